"""Launches on compiled code: kernels ready to run, workers, and the reference machine's help."""
