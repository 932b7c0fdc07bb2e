"""`arena export`, `arena verify` and `arena import`."""
