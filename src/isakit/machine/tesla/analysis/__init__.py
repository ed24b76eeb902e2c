"""Analyses of a kernel before code is made: control flow, liveness, uniform registers, NaNs."""
