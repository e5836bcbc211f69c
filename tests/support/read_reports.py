"""An invented report for the tests of `read`: it hedges, implies and contradicts."""

HEDGED = """EXAMINATION: Chest, PA and lateral.
INDICATION: Cough.

FINDINGS: There is a small left pleural effusion. An opacity in the right lower lobe may represent pneumonia.
There is no pneumothorax. Severe pulmonary edema is present.

IMPRESSION: Pneumonia is possible. No left pleural effusion.
"""
"""Pneumonia with doubt, an effusion that findings state and the impression denies,
edema with its signs.
"""
