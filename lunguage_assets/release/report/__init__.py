"""The HTML report and the tables of the paper."""
