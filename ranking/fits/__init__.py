"""Bradley-Terry strengths from counts and rows."""
