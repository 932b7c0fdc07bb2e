"""One battle from the draw to the names, and what keeps battles going."""
