"""Reasons, shared by many methods, why writing to them has no effect on this card."""

IN_ORDER = "everything is done in order"
NO_OBJECTS = "memory is one space here: objects that restrict it have nothing to do"
NO_CACHES = "there are no caches that could be stale"
OWN_STACKS = "stacks and local memory are the machine's own"
ONLY_SPEED = "speeds hardware up and changes no pixel"
NO_RIVALS = "resources of a multiprocessor that nothing here competes for"
