"""The arena: people, battles, votes, storage, pages, commands."""

__version__ = "0.1.0"
