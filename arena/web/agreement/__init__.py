"""The page for analysts."""
