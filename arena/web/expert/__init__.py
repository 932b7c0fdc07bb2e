"""The page where experts judge."""
