"""Assets by group: corpus, explicit, implicit, release. Each module only loads, calls the method, and
attaches metadata.
"""
