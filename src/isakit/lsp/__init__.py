"""The language server: what editors ask about assembly texts, PTX and Python kernels while they are written."""
