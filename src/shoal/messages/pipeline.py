"""Messages on columns, roles, types, missing values, record blocks and saved releases."""
