"""The engines of the card: what their methods do."""
