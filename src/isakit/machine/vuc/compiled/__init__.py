"""vµc programs as machine code: the same traced semantics as the reference core, compiled by LLVM."""
