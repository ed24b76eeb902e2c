"""Floating point as named operations: rounding, flushing and NaN rules, each with an exact integer definition."""
