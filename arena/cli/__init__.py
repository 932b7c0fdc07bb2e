"""The `arena` command, a file a command group.

Importing it must stay cheap: what a command needs is imported when it runs.
"""

from arena.cli.app import app, main

__all__ = ["app", "main"]
