"""How sure a strength is: sandwich, bootstrap, several models at once."""
