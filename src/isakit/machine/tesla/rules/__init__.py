"""The control of Tesla programs, once for every engine: routines on the declared state of warps and blocks."""
