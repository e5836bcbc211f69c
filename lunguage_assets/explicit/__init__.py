"""Explicit uncertainty: from hedging phrases to a probability per tentative finding.

What belongs here: docs/method/explicit.md, section by section: `hedges`, `vocabulary`
(1), `ranking`, `trueskill` (2, 3), `fit`, `fitted_findings` (5), `probability`,
`intervals` (6), `analysis` (3, 4, 7), and the small model that learns it (`distilled`).
What does not: how a judge is asked (`judges/`), and what a finding implies
(`implicit/`).
"""
