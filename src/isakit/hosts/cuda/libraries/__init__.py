"""Routines of cuBLAS, cuFFT and cuRAND, computed with NumPy on the host."""
