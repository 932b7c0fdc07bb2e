"""What leaves the arena for others to read and to recompute, and what comes in from others."""
