"""The facts: one package per instruction set."""
