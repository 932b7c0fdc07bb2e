"""Judges that are models: voters of their own kind, never counted among people."""
