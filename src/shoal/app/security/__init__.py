"""Who may talk to the page: addresses, tokens, headers."""
