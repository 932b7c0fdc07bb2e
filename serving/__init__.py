"""Chat models behind one protocol: conversations in, text streams out."""
