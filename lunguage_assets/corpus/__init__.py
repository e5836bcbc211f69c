"""Reading and validating Lunguage files: statuses, views, references, masking; and the synthetic sample
corpus.
"""
