"""`arena simulate`."""
