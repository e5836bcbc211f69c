"""Why a row is in the result."""
