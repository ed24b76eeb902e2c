"""From operations on values to Tesla instructions on registers."""
