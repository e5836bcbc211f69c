"""Reading and validating Lunguage files: statuses, views, references, masking."""
