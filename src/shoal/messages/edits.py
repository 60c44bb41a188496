"""Messages on edit rules."""
