"""Files to programs and back."""
