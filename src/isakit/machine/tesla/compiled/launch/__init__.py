"""Launches on compiled code: kernels ready to run, workers, and help from the reference machine."""
