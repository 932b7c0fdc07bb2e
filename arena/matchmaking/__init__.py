"""Which two models meet next."""
