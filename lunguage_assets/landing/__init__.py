"""New reports in a folder: complete deliveries are registered once each; unusable ones are quarantined."""
