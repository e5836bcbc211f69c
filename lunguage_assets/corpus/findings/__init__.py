"""From delivered rows to the table `findings`: names, places, references, masks."""
