"""`arena experts`."""
