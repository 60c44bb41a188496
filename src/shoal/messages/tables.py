"""Messages on files and tables."""
