"""Invented reports for the tests of `read`: one that hedges, implies and contradicts,
and sentences for others; no tests here.
"""

from __future__ import annotations

from hypothesis import strategies as st

HEDGED = """EXAMINATION: Chest, PA and lateral.
INDICATION: Cough.

FINDINGS: There is a small left pleural effusion. An opacity in the right lower lobe may represent pneumonia.
There is no pneumothorax. Severe pulmonary edema is present.

IMPRESSION: Pneumonia is possible. No left pleural effusion.
"""
"""Pneumonia with doubt, an effusion that findings state and the impression denies,
edema with its signs.
"""

SENTENCES = (
    "The lungs are clear.",
    "There is no pleural effusion or pneumothorax.",
    "Small bilateral pleural effusions are unchanged.",
    "Patchy opacity at the left base may represent atelectasis or pneumonia.",
    "Pneumonia cannot be excluded.",
    "Mild cardiomegaly is likely.",
    "The tip of the endotracheal tube is 4 cm above the carina.",
    "Findings are concerning for pulmonary edema.",
    "Follow-up radiograph is recommended.",
    "Heart size is\nnormal.",
)


def written_reports() -> st.SearchStrategy[str]:
    """Reports of known sentences between anything that a keyboard can write."""
    odd = st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12
    )
    piece = (
        st.sampled_from(SENTENCES)
        | st.sampled_from(("FINDINGS: ", "IMPRESSION:\n", "\n\n", " "))
        | odd
    )
    return st.lists(piece, max_size=10).map(" ".join)
