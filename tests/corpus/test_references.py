"""References between rows of a study (implicit.md section 1)."""

from __future__ import annotations

from delivered_rows import Deliver, row

STUDY = "s50000001"


def evidence(
    deliver: Deliver, cell: str, *other_rows: dict[str, str], section: str = "find"
) -> list[str]:
    """What a row 0 that says "edema" refers to among the other rows."""
    own = {"ent": "edema", "normed_ent": "edema", "ent_idx": "1", "evidence": cell}
    intake = deliver([row(0, section=section, **own), *other_rows])
    return list(intake.findings.set_index("row").loc[0, "evidence"])


def test_the_same_section_comes_first_then_another(deliver: Deliver) -> None:
    """Numbers repeat across sections."""
    rows = [row(1, ent_idx="3", section="hist"), row(2, ent_idx="3")]
    rows.append(row(3, ent_idx="3", section="impr"))
    impression = row(1, ent_idx="3", section="impr")
    read = [
        evidence(deliver, "opacity, idx3", *rows),
        evidence(deliver, "opacity, idx3", *rows, section="impr"),
        evidence(deliver, "opacity, idx3", impression, row(2, ent_idx="4")),
    ]
    assert read == [[f"{STUDY}:{number}"] for number in (2, 3, 1)]


def test_names_match_as_worded_or_in_canonical_form(deliver: Deliver) -> None:
    effusion = row(1, ent="Effusions", normed_ent="pleural effusion", ent_idx="2")
    for name in ("Effusions", "effusion", "pleural effusion", "PLEURAL  EFFUSION"):
        assert evidence(deliver, f"{name}, idx2", effusion) == [f"{STUDY}:1"]


KEPT = {
    "haze, idx7": ["~haze"], "haze": ["~haze"], "opacity": ["~opacity"],
    "edema, idx1": ["~edema"], "opacity, idx2, opacity, idx2": [f"{STUDY}:1"],
    "haze, opacity, idx2": ["~haze, opacity"],
    "nan": [], "nan, NULL": [], "opacity, idx2, idx3": [f"{STUDY}:1"], "idx2": [],
    "IDX 7, idx007, haze": ["~haze"], "haze, idx" + "9" * 16: ["~haze"],
    "idx" + "9" * 16: [],
}  # fmt: skip


def test_a_reference_to_no_row_keeps_its_name_alone(deliver: Deliver) -> None:
    opacity = row(1, ent_idx="2")
    assert {cell: evidence(deliver, cell, opacity) for cell in KEPT} == KEPT
    assert evidence(deliver, "opacity, idx9", opacity) == ["~opacity"]
    elsewhere = row(1, ent_idx="2", study_id="s50000002")
    assert evidence(deliver, "opacity, idx2", elsewhere) == ["~opacity"]


def test_a_name_may_contain_commas(deliver: Deliver) -> None:
    tube = row(1, ent="tube, left", normed_ent="", ent_idx="2")
    assert evidence(deliver, "tube, left, idx2", tube) == [f"{STUDY}:1"]


def test_however_a_number_is_spelled_it_is_one(deliver: Deliver) -> None:
    rows = [row(1, ent_idx="3"), row(2, ent_idx="4")]
    for number in ("idx3", "(idx: 3)", "idx3.0", "IDX_3", "[idx 3.00]", "idx#3"):
        for cell in (f"opacity, {number}", f"opacity {number}"):
            assert evidence(deliver, cell, *rows) == [f"{STUDY}:1"], cell
        assert evidence(deliver, number, *rows) == []
