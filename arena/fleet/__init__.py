"""Several processes behind one address: the workers, and the proxy that tells them apart."""
