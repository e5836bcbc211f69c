"""Explicit uncertainty: from hedging phrases to a probability per tentative finding.

What belongs here: docs/method/explicit.md, in the order `hedges`, `rating`, `fit`,
`analysis`, and the small model that learns it (`distilled`). What does not: how a judge
is asked (`judges/`), and what a finding implies (`implicit/`).
"""
