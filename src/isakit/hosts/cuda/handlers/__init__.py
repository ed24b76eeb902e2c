"""The handlers of all messages, one module for each chapter of the interfaces."""

from isakit.hosts.cuda.handler_table import registered_handlers
from isakit.spec.folder import import_folder

import_folder(__name__, __file__)  # importing a module registers its handlers

__all__ = ["registered_handlers"]
