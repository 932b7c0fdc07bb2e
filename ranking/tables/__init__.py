"""Tables from files as people have them: bytes in, columns of text out, and how it was done."""
