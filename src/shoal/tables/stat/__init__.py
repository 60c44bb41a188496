"""Files of statistical packages: SPSS, Stata, SAS; their labels, missing codes, formats and limits."""
