"""Votes and counts: read, checked, encoded, weighed."""
