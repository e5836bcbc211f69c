"""What a run would ask and cost."""
