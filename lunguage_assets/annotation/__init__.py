"""The method in memory, for one report or a frame of them: no home, no Dagster, nothing stored or sent."""
