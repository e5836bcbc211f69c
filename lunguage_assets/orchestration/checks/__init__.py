"""Asset checks: the suite of every table, the guarantees that block, and what a person should know before
trusting the numbers.
"""
