"""Analyses of a kernel before code generation: control flow, liveness, uniform registers, NaNs."""
