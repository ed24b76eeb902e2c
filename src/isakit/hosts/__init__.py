"""The world outside: programs of other people that run on the simulated chips."""
