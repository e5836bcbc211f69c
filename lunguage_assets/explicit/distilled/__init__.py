"""A small model that learns a panel's judgement from its stored answers (docs/distilled.md)."""
