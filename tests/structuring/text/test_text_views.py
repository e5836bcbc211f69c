"""Views as a report's own text gives them."""

from __future__ import annotations

import pytest

from lunguage_assets.structuring.text.read import sectioned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TECHNIQUE: PA and lateral views.\nFINDINGS: Clear.", "pa, lateral"),
        ("EXAMINATION: CHEST (PORTABLE AP)\nFINDINGS: Clear.", "ap"),
        ("TECHNIQUE: Single frontal view.\nFINDINGS: Clear.", ""),
        ("TECHNIQUE: Portable upright chest.\nFINDINGS: Clear.", "ap, erect"),
        ("TECHNIQUE: Two views of the chest.\nFINDINGS: Clear.", "pa, lateral"),
        ("EXAMINATION: Chest 2V frontal/lateral\nFINDINGS: Clear.", "pa, lateral"),
        ("TECHNIQUE: Portable frontal and lateral views.\nFINDINGS: Clear.", "ap, lateral"),
        ("Frontal supine and cross-table lateral views of the chest were obtained.", "lateral, supine"),
        ("FINDINGS: On the lateral view, an opacity lies over the spine.", "pa, lateral"),
        ("TECHNIQUE: Left lateral decubitus.\nFINDINGS: Clear.", "recumbent"),
        ("PORTABLE SUPINE CHEST, ___\n\nClear lungs.", "ap, supine"),
        ("AP CHEST: Clear lungs.", "ap"),
        ("PA and lateral views of the chest were obtained. Clear.", "pa, lateral"),
        ("IMPRESSION: AP chest compared to the PA film of ___: No edema.", "ap"),
        ("FINDINGS: In comparison to the PA and lateral films, no change.", ""),
        ("FINDINGS: Fullness of the AP window. Left lateral pleural thickening.", ""),
        ("COMPARISON: PA and lateral views of ___.\nFINDINGS: Clear.", ""),
        ("FINDINGS: Clear. We recommend PA and lateral views.", ""),
        ("FINDINGS: Left effusion. A left lateral decubitus film may be helpful.", ""),
        ("FINDINGS: The AP diameter of the chest is increased. Scar of the left lateral chest.", ""),
        ("FINDINGS: Not seen on an earlier PA film.", ""),
        ("FINDINGS: Frontal and lateral radiographs of the thoracic spine show scoliosis.", ""),
    ],
)  # fmt: skip
def test_views_are_those_that_the_text_names_of_this_study(text: str, expected: str) -> None:
    assert sectioned("1", text).views == expected
