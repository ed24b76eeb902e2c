"""Graphs and data flow: orders, dominators, loops, basic blocks, one solver, live values, SSA form, uniformity.

Nothing here knows what an instruction is. The nodes of a graph are any objects that can be keys of a dictionary: blocks
of a compiler, addresses, numbers. Sets are bits of Python ints: joining two is one operation, however large they are.
"""
