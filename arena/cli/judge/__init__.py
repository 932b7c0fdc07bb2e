"""`arena judge`."""
