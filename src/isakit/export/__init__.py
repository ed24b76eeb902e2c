"""The instruction sets as data for other programs, generated from the records."""
