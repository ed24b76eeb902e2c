"""CUDA programs of the years 2007 to 2014: the libraries they call, and the device behind them.

The program runs unmodified. In place of libcudart, libcuda, libcublas, libcufft or libcurand it loads a small C library
(`library/`, generated from the table in `api/`), which turns calls into messages to this process; here `server` and
`handlers` answer them.
"""
