"""`arena battles`."""
