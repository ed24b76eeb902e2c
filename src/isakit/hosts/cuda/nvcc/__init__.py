"""Whole .cu files to executables, with the options of NVIDIA's compiler driver."""
