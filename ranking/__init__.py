"""Statistics of pairwise preference: arrays and tables in, frozen results out."""
