"""From a kernel to LLVM IR: the code of a warp, the interpreter, and the functions that every kernel calls."""
