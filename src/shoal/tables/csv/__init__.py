"""CSV files: dialect, encoding, types of columns; read whole or in pieces, written cell by cell."""
