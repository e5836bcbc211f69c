"""Labels per study."""
