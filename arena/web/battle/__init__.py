"""The page where people vote."""
