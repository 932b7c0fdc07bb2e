"""`arena agreement`."""
