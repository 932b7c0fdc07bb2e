"""Leaderboards: fits and intervals put together, and split by groups."""
