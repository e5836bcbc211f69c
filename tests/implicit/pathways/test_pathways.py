"""The dictionary of pathways: published structure, checks on loading, notation,
trees.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from invented_reports import dictionary, run, stated, vocabulary

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathways import load_dictionary, pathway_tree
from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import TERMS

PUBLISHED = {  # variants, pathways, depth, width: the table of implicit.md section 3
    "pleural effusion": (2, 10, 1, 3),
    "atelectasis": (7, 1, 1, 2),
    "pulmonary edema": (12, 2, 2, 4),
    "consolidation": (4, 1, 1, 2),
    "pneumonia": (22, 3, 2, 3),
    "cardiomegaly": (1, 1, 1, 1),
    "congestive heart failure": (5, 1, 3, 6),
    "pneumothorax": (5, 2, 1, 4),
    "emphysema": (6, 2, 1, 3),
    "copd": (3, 1, 2, 5),
    "fracture": (15, 4, 1, 5),
    "lung cancer": (7, 1, 1, 1),
    "tuberculosis": (5, 2, 1, 3),
    "bronchitis": (4, 2, 1, 3),
}


def test_the_dictionary_has_the_published_structure() -> None:
    structure = {
        s.diagnosis: (s.variants, s.pathways, s.depth, s.width)
        for s in dictionary().statistics()
    }
    assert structure == PUBLISHED


def test_every_spelling_is_recognised_in_every_wording_that_normalises_to_it() -> None:
    for name, diagnosis in dictionary().diagnoses.items():
        for spelling in diagnosis.spellings:
            for wording in (spelling, f"  {spelling.upper()} "):
                assert dictionary().recognise(vocabulary().finding(wording)) == name


@pytest.mark.parametrize(
    ("ent", "diagnosis"),
    [
        ("CHF", "congestive heart failure"),
        ("pna", "pneumonia"),
        ("effusions", "pleural effusion"),
        ("lung carcinoma", "lung cancer"),
        ("loculated effusion", "pleural effusion"),
        ("pericardial effusion", ""),
        ("acute cholecystitis", ""),
        ("", ""),
    ],
)
def test_findings_are_recognised_by_their_canonical_name(
    ent: str, diagnosis: str
) -> None:
    assert dictionary().recognise(vocabulary().finding(ent)) == diagnosis


def test_a_vocabulary_that_renames_a_spelling_does_not_hide_the_diagnosis() -> None:
    columns = ("category", "subcategory", "target_term", "normed_term")
    renamed = [
        ("CF", "", "congestive heart failure", "heart failure"),
        ("PF", "", "severe emphysema", "emphysema"),
    ]
    terms = TERMS.frame([dict(zip(columns, row, strict=True)) for row in renamed])
    renaming = Vocabulary(terms)
    seen = load_dictionary(None, renaming)
    assert seen.recognise(renaming.finding("CHF")) == "congestive heart failure"
    assert seen.recognise("emphysema", "severe emphysema") == "emphysema"


def test_the_papers_notation_is_written_from_the_data() -> None:
    effusion, consolidation = (
        dictionary().diagnoses[name].pathways
        for name in ("pleural effusion", "consolidation")
    )
    notation = {pathway.id: pathway.notation for pathway in (*effusion, *consolidation)}
    assert notation["consolidation_1"] == (
        "view: ap, pa, lateral > ent: opacity > status: dp > loc: airspace "
        "&& ent: volume loss > status: dn"
    )
    assert notation["pleural_effusion_2"] == (
        "view: ap, pa, lateral, supine > ent: opacity > status: dp > "
        "loc: pleural space > morphology: hazy > distribution: diffuse"
    )


MINIMAL = """diagnoses:
  - name: flu
    spellings: [flu, light flu]
    refinements:
      - {name: mild, words: [light]}
    pathways:
      - id: flu_1
        implies:
          - {finding: fever, status: dp}
      - id: flu_2
        when: {refinements: [mild], projections: [[pa]]}
        implies:
          - {finding: redness, status: dn, strength: 0.5}
"""


def load_text(tmp_path: Path, text: str) -> object:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    return load_dictionary(file, vocabulary())


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ("[[pa]]", "[[sideways]]", "projections"),
        ("strength: 0.5", "strength: 1", "strength"),  # no edge is certain
        ("finding: redness", "diagnosis: redness", "'redness': expected either"),
        ("finding: redness", "finding: flu", "'flu': expected either"),
        ("finding: redness", "diagnosis: flu", "cycle: flu -> flu"),
        ("id: flu_2", "id: flu_1", "'flu_1' is given twice"),
        ("light flu", "flu", "'flu' is given twice"),
        ("[flu, ", "[", "its own spellings"),
        ("[mild]", "[plain]", "flu_1 and flu_2 both apply"),
        ("[mild]", "[fierce]", "unknown refinement 'fierce'"),
        ("status: dn", "status: dn, attributes: {colour: red}", "attributes"),
        ("status: dn", "status: dn, status: dp", "status"),
        ("diagnoses:", "unknown: 1\ndiagnoses:", "the whole file: key 'unknown' is not known"),
        ("name: flu\n", "name: [flu\n", "not readable as YAML"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_and_the_field(
    tmp_path: Path, before: str, after: str, field: str
) -> None:
    assert before in MINIMAL
    with pytest.raises(ConfigurationError) as raised:
        load_text(
            tmp_path,
            MINIMAL.replace(before, after, 1),
        )
    assert "own.yaml" in str(raised.value)
    assert field in str(raised.value)


def test_a_missing_or_undecodable_file_is_an_error_with_a_remedy(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigurationError, match="FileNotFoundError"):
        load_dictionary(tmp_path / "none.yaml", vocabulary())
    (tmp_path / "latin.yaml").write_bytes(b"diagnoses: \xff")
    with pytest.raises(ConfigurationError, match="UnicodeDecodeError"):
        load_dictionary(tmp_path / "latin.yaml", vocabulary())


def test_a_diagnosis_that_a_person_adds_is_shown_and_expanded_without_code(
    tmp_path: Path,
) -> None:
    added = """
  - name: silicosis
    spellings: [silicosis, acute silicosis]
    refinements:
      - {name: acute, words: [acute]}
    pathways:
      - id: silicosis_1
        implies:
          - {finding: nodules, status: dp, location: bilateral upper lung, attributes: {morphology: rounded}}
      - id: silicosis_2
        when: {refinements: [acute]}
        implies:
          - {diagnosis: consolidation, status: dp, strength: 0.5}
          - {finding: fluid, status: dn, strength: 0.5}
"""
    file = tmp_path / "pathways.yaml"
    file.write_text(resource("pathways.yaml").read_text() + added)
    extended = load_dictionary(file, vocabulary())
    assert list(pathway_tree(extended, "silicosis")) == [
        "silicosis",
        "    silicosis_1 > plain > view: ap, pa, lateral",
        "        ent: nodules > status: dp > loc: bilateral upper lung > morphology: rounded",
        "    silicosis_2 > acute > view: ap, pa, lateral",
        "        ent: consolidation > status: dp",
        "        ent: fluid > status: dn",
    ]
    rows = run(
        [stated("silicosis", "tp", p=0.8, onset="acute")], pathways=extended
    ).rows
    assert rows["support"].tolist() == pytest.approx([0.8, 0.4, 0.4, 0.4])
    assert rows.set_index("name").loc[
        "fluid", ["prob", "p_high"]
    ].tolist() == pytest.approx([0.3, 0.8])
