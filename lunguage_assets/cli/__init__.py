"""The `lunguage` command: one module per command, named as the command.

A module reads options, calls the package, and prints what came of it. What is
computed, stored or decided is in the packages below. `main` turns errors into one line
and an exit status.
"""
