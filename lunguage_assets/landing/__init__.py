"""New reports that are put into a folder: finding complete deliveries, registering each once, putting aside
what cannot be used.
"""
