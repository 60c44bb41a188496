"""Messages on the command line, the page, the report and the estimator."""
