"""The part of the kernel and the card for Mesa's nv50 driver: GL programs run on a simulated chip."""
