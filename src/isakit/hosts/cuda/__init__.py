"""CUDA programs of the years 2007 to 2014: the libraries they call, and the device behind them.

The program runs as it is. Where it looks for libcudart, libcuda, libcublas, libcufft or libcurand it finds a small C
library (`library/`, made from the table in `api/`), which turns calls into messages to this process; here `server` and
`handlers` answer them.
"""
