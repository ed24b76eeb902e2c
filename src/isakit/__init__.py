"""isakit: read, write and run instruction sets that were reverse-engineered instead of documented."""
