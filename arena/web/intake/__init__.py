"""What a request must be before any page sees it."""
