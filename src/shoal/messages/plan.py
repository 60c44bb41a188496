"""Messages on the request: fields of a plan, their conflicts, plan files and policies."""
