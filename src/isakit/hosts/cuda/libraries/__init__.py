"""What cuBLAS, cuFFT and cuRAND compute, with NumPy on the host."""
