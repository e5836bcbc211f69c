"""Which pathway a finding matches, or the reason why none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from invented_reports import dictionary, frames, identity, run, stated, vocabulary

from lunguage_assets.implicit.expansion.matching import match
from lunguage_assets.implicit.pathways.pathway_file import view_situations
from lunguage_assets.implicit.pathways.pathways import load_dictionary
from lunguage_assets.implicit.rows import read_rows
from lunguage_assets.tables import VIEWS

SIGNS = {"erect": "blunting", "supine": "opacity", "recumbent": "fluid"}


def matched(ent: str, **options: Any) -> tuple[str, str]:
    """Pathway id and reason of a single certain finding."""
    row = read_rows(frames([stated(ent, **options)])[0])[0]
    row.p_source = "definitive"
    outcome = match(row, dictionary())
    return outcome.record["pathway_id"], outcome.record["reason"]


def expected_effusion_signs(views: frozenset[str]) -> set[str]:
    """The view rule of implicit.md section 3, said once more without pathways."""
    postures = views & set(SIGNS)
    if postures:
        return {SIGNS[posture] for posture in postures}
    signs = set()
    if "pa" in views:
        signs.add("blunting")
    if "ap" in views or views == {"lateral"}:
        signs.add("opacity")
    return signs


def test_an_effusion_shows_what_the_view_shows() -> None:
    """All sets of views but all postures at once, one study each."""
    situations = [views for views in view_situations() if not set(SIGNS) <= views]
    named = (", ".join(view for view in VIEWS if view in views) for views in situations)
    outcome = run(
        stated("effusion", view=view, study=f"s{n:08d}", row=0)
        for n, view in enumerate(named)
    )
    for number, views in enumerate(situations):
        study = outcome.rows[outcome.rows["study_id"] == f"s{number:08d}"]
        signs = expected_effusion_signs(views)
        assert set(study["name"]) - {"pleural effusion"} == signs, views
        assert study["match_reason"].iloc[0] == ("matched" if signs else "unknown view")


@pytest.mark.parametrize(
    ("ent", "options", "pathway"),
    [
        ("pneumothorax", {}, "pneumothorax_1"),
        ("pneumothorax with tension component", {}, "pneumothorax_2"),
        ("pneumothorax", {"morphology": "without tension"}, "pneumothorax_1"),
        ("pneumothorax", {"morphology": "tension not seen"}, "pneumothorax_1"),
        ("tuberculosis", {"onset": "unlikely active"}, "tuberculosis_2"),
        ("pneumothorax", {"morphology": "hypertension"}, "pneumothorax_1"),
        ("emphysema", {"severity": "moderate to severe"}, "emphysema_2"),
        ("emphysema", {"severity": "not severe"}, "emphysema_1"),
        ("bronchitis", {"onset": "chronic, acute"}, "bronchitis_1"),
        ("bronchitis", {"onset": "not acute but chronic"}, "bronchitis_2"),
        ("tuberculosis", {"onset": "not active"}, "tuberculosis_2"),
        ("nonactive tuberculosis", {}, "tuberculosis_2"),
        ("edema", {"location": "interstitial"}, "pulmonary_edema_2"),
        ("edema", {"location": "alveolar"}, "pulmonary_edema_1"),
        ("pneumonia", {"distribution": "lobar"}, "pneumonia_3"),
        ("pneumonia", {"location": "right lower lobe"}, "pneumonia_1"),
        ("aspiration pna", {}, "pneumonia_2"),
        ("pleural effusion", {"morphology": "loculated", "view": ""}, "pleural_effusion_10"),
        ("pleural effusion", {"morphology": "no longer loculated"}, "pleural_effusion_8"),
        ("effusion atelectasis", {}, "atelectasis_1"),
        ("fracture", {"location": "left clavicle"}, "fracture_1"),
        ("fracture", {"onset": "old", "location": "right 5th rib"}, "fracture_2"),
        ("long standing fracture", {}, "fracture_2"),
        ("fracture", {"onset": "old", "morphology": "healed"}, "fracture_3"),
        ("fracture", {"onset": "acute on chronic"}, "fracture_1"),
        ("fracture", {"location": "T8-T9"}, "fracture_4"),
        ("fracture", {"location": "thoracic spine", "onset": "old"}, "fracture_4"),
        ("compression fractures", {}, "fracture_4"),
        ("fracture", {"location": "costovertebral"}, "fracture_1"),
        ("fracture", {"location": "rib, mid axillary line"}, "fracture_1"),
        ("fracture", {"comparison": "old film of the spine"}, "fracture_1"),
        ("emphysema", {"location": "upper lobes"}, "emphysema_1"),  # not the one under the skin
    ],
)  # fmt: skip
def test_refinement_words_and_bones_choose_among_the_pathways(
    ent: str, options: dict[str, str], pathway: str
) -> None:
    assert matched(ent, **options) == (pathway, "matched")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"ent": "opacity"}, "not a diagnosis"),
        ({"ent": "pneumonia", "section": "hist"}, "history section"),
        ({"ent": "CHF", "past_hx": "history of"}, "past diagnosis"),
        ({"ent": "CHF", "status": "dn"}, "negative"),
        ({"ent": "CHF", "status": "tp", "p": None}, "no information on certainty"),
        ({"ent": "CHF", "status": "tn", "p": None}, "negative"),
        ({"ent": "CHF", "status": "dn", "past_hx": "old"}, "past diagnosis"),
        ({"ent": "fracture", "location": "lead", "past_hx": "old"}, "not a diagnosis"),
        ({"ent": "effusion", "location": "pericardial"}, "not a diagnosis"),
        ({"ent": "pneumonia", "improved": "resolved"}, "resolved"),
        ({"ent": "effusion", "view": ""}, "unknown view"),
        ({"ent": "effusion", "view": "ap, sideways"}, "matched"),
        ({"ent": "cardiomegaly", "view": "lateral"}, "view not covered"),
        ({"ent": "CHF"}, "matched"),
    ],
)
def test_every_row_without_a_pathway_says_why(
    options: dict[str, Any], reason: str
) -> None:
    outcome = run([stated(**options)])
    pathway_match = outcome.match(identity(0))
    assert pathway_match["reason"] == reason
    assert bool(pathway_match["pathway_id"]) is (reason == "matched")
    assert outcome.expansion.expansions.empty is (reason != "matched")


def test_a_refinement_without_a_pathway_is_a_reason_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        "diagnoses:\n  - name: flu\n    spellings: [flu]\n    refinements:\n      - "
        "{name: mild, words: [mild]}\n"
        "    pathways:\n      - {id: flu_1, implies: [{finding: fever, status: dp}]}\n"
    )
    outcome = run(
        [stated("flu", severity="mild")], pathways=load_dictionary(file, vocabulary())
    )
    assert outcome.match(identity(0))["reason"] == "no pathway for this refinement"
