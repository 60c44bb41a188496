"""Messages on engines: memory, file and Spark."""
