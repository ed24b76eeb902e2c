"""The Tesla machine on compiled code: warps as LLVM functions, state in memory, faults on the reference machine."""
