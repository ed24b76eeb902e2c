"""vµc programs as machine code: the traced semantics of the reference core, compiled by LLVM."""
