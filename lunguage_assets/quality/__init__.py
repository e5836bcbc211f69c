"""Data quality: Great Expectations suites, derived from the table schemas or written by hand, and running
them on a frame.
"""
