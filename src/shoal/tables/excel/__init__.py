"""Excel workbooks, read and written."""
