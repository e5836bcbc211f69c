"""Assets by group: each module only loads, calls the method, and attaches metadata."""
