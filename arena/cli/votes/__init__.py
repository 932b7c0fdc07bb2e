"""`arena votes` and `arena voters`: what counts, and what does not, and why."""
