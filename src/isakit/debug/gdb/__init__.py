"""gdb's remote protocol: `isakit debug --gdb PORT`, and the Python file that adds our commands to gdb."""
