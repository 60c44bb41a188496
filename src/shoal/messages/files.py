"""Messages on files: reading, writing and their formats."""
