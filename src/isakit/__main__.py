"""`python -m isakit` is the command line."""

from isakit.cli import main

if __name__ == "__main__":
    main()
