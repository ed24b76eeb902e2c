"""The Tesla chips as a target of the compiler: registers, instructions, rules of selection, branches, encoding."""
