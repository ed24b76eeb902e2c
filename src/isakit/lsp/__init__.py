"""The language server: diagnostics, hovers and completions for unfinished assembly, PTX and kernels."""
