"""Passes over the intermediate form, each named after what holds after it."""
