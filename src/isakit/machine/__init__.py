"""Architectural state and control, one package per instruction set. Machines compute nothing: engines do."""
