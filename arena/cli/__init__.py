"""The `arena` command, a file a command group."""
