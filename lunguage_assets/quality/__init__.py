"""Data quality: rules of rows, studies set aside, expectations of people."""
