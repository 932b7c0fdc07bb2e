"""`arena rank`."""
