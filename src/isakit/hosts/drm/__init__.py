"""The kernel's and the card's part for Mesa's nv50 driver: GL programs run on a simulated chip."""
