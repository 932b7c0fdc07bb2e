"""From the votes on record to the boards that pages show."""
