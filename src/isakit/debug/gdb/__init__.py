"""gdb's remote protocol: `isakit debug --gdb PORT`, and the Python file that gdb loads for what it does not know."""
