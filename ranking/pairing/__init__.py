"""Which pair tells most, and arenas played to find out."""
