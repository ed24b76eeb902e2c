"""The engines of the card: actions of their methods."""
