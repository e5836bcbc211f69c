"""What runs without a person: conditions, schedules, the sensor on the landing folder."""
