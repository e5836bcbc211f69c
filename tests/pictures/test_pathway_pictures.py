"""Claims about the pictures of the pathways: they hold the whole dictionary, nothing lies over anything else,
and the page is the file's.
"""

from __future__ import annotations

import io
import re
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import dictionary, run, said, vocabulary
from matplotlib.image import imread
from profiles import examples

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathway_tree import SOMETIMES, Branch, pathway_tree
from lunguage_assets.implicit.pathways.pathways import load_dictionary
from lunguage_assets.pictures.pathway_pictures import Box, file_name, laid_out, main, page, pathway_picture

DOCS = Path(__file__).resolve().parents[2] / "docs"
DIAGNOSES = tuple(dictionary().diagnoses)


def leaves(branch: Branch) -> list[Branch]:
    return [leaf for child in branch.children for leaf in leaves(child)] if branch.children else [branch]


def pixels(picture: bytes) -> np.ndarray:
    image: np.ndarray = imread(io.BytesIO(picture), format="png")
    return image


@pytest.mark.parametrize("diagnosis", DIAGNOSES)
def test_a_tree_has_every_pathway_with_every_sub_finding_down_to_the_leaves(diagnosis: str) -> None:
    tree = pathway_tree(dictionary(), diagnosis)
    pathways = dictionary().pathways_of(diagnosis)
    assert [branch.lines for branch in tree.children] == [(pathway.id,) for pathway in pathways]
    for branch, pathway in zip(tree.children, pathways, strict=True):
        assert [child.title for child in branch.children] == [edge.ent for edge in pathway.edges]
        assert [child.kind == "absent" for child in branch.children] == [
            edge.status == "dn" for edge in pathway.edges
        ]
        for child, edge in zip(branch.children, pathway.edges, strict=True):
            assert (f"at: {edge.location}" in child.lines) == bool(edge.location)
            assert all(any(value in line for line in child.lines) for value in edge.attributes.values())
    width = next(s.width for s in dictionary().statistics() if s.diagnosis == diagnosis)
    assert len({leaf.title for leaf in leaves(tree)}) == width


def test_every_situation_of_the_effusion_reads_differently() -> None:
    titles = [branch.title for branch in pathway_tree(dictionary(), "pleural effusion").children]
    assert len(set(titles)) == len(titles) == 11
    assert titles[0] == "posture erect"
    assert titles[6] == "views ap or lateral or ap + lateral, posture unknown"
    assert titles[9] == "loculated, any view"


def test_what_a_nested_diagnosis_does_not_always_show_says_so() -> None:
    written = [line.strip() for line in pathway_tree(dictionary(), "congestive heart failure").written()]
    assert (
        "heart size (at: cardiothoracic; measurement: increased; in some situations only)" in written
    )  # not on a lateral view
    assert "opacity (at: airspace)" in written  # a consolidation always shows it
    assert [line.split(" (")[0] for line in written if SOMETIMES in line] == [
        "heart size", "consolidation", "pleural effusion", "blunting", "opacity", "fluid", "opacity",
        "opacity",
    ]  # fmt: skip


def test_an_absent_sign_and_a_symptom_are_named_as_such() -> None:
    assert "        absent: volume loss" in list(pathway_tree(dictionary(), "consolidation").written())
    assert "        fever (symptom)" in list(pathway_tree(dictionary(), "pneumonia").written())


def test_a_strength_is_shown_where_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "pathways.yaml"
    file.write_text(
        resource("pathways.yaml")
        .read_text()
        .replace("{finding: fever, status: dp}", "{finding: fever, status: dp, strength: 0.25}", 1)
    )
    changed = load_dictionary(file, vocabulary())
    assert "        fever (symptom; strength 0.25)" in list(pathway_tree(changed, "pneumonia").written())
    assert not any("strength" in line for line in pathway_tree(dictionary(), "pneumonia").written())


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page and its pictures, as the command writes them."""
    folder = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pathway_pictures", str(folder)])
        main()
    return folder


@pytest.mark.parametrize("diagnosis", DIAGNOSES)
def test_a_picture_is_a_png_that_shows_something(diagnosis: str, drawn: Path) -> None:
    shown = pixels((drawn / "pathways" / file_name(diagnosis)).read_bytes())
    assert shown.shape[0] > 40
    assert shown.shape[1] > 400
    assert 0.02 < (shown[:, :, :3] < 0.99).any(axis=2).mean() < 0.9


def test_a_picture_is_the_same_every_time(drawn: Path) -> None:
    picture = (drawn / "pathways" / file_name("pneumothorax")).read_bytes()
    assert pathway_picture(dictionary(), "pneumothorax") == picture


def test_a_changed_pathway_changes_the_picture(drawn: Path, tmp_path: Path) -> None:
    file = tmp_path / "pathways.yaml"
    file.write_text(resource("pathways.yaml").read_text().replace("location: airspace", "location: alveoli"))
    changed = pathway_picture(load_dictionary(file, vocabulary()), "consolidation")
    assert changed != (drawn / "pathways" / file_name("consolidation")).read_bytes()


def test_an_unknown_diagnosis_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="pneumonia"):
        pathway_picture(dictionary(), "gout")


titles = st.text("ab ", min_size=1, max_size=90)
details = st.lists(st.text("cd ", max_size=60), max_size=3).map(tuple)
branches = st.recursive(
    st.builds(Branch, st.sampled_from(["present", "absent"]), titles, details),
    lambda below: st.builds(
        Branch, st.just("diagnosis"), titles, st.just(()), st.lists(below, max_size=4).map(tuple)
    ),
    max_leaves=12,
)


def assert_apart(box: Box) -> None:
    edges = [
        (other.left, other.middle - other.height / 2, other.middle + other.height / 2) for other in box.all()
    ]
    for (left, upper, lower), (other_left, other_upper, other_lower) in combinations(edges, 2):
        assert left != other_left or upper >= other_lower or other_upper >= lower
    assert min(upper for _, upper, _ in edges) > 0


@examples(60)
@given(branches)
def test_no_box_lies_over_another_whatever_the_tree(tree: Branch) -> None:
    box, end = laid_out(tree)
    assert_apart(box)
    assert len(list(box.all())) == len(list(tree.written()))
    assert max(other.middle + other.height / 2 for other in box.all()) <= end


def test_the_page_in_the_documentation_is_that_of_the_packaged_file() -> None:
    written = (DOCS / "pathways.md").read_text(encoding="utf-8")
    assert written == page(dictionary(), "pathways"), (
        "run: python -m lunguage_assets.pictures.pathway_pictures"
    )


def test_every_picture_of_the_page_exists_and_no_other() -> None:
    named = set(
        re.findall(r"\(pathways/([a-z_]+\.png)\)", (DOCS / "pathways.md").read_text(encoding="utf-8"))
    )
    assert named == {file_name(diagnosis) for diagnosis in DIAGNOSES}
    assert {file.name for file in (DOCS / "pathways").iterdir()} == named


def test_the_page_is_written_by_one_command(drawn: Path) -> None:
    assert (drawn / "pathways.md").read_text(encoding="utf-8") == page(dictionary(), "pathways")
    assert {file.name for file in (drawn / "pathways").iterdir()} == {file_name(name) for name in DIAGNOSES}


def test_a_diagnosis_that_a_person_adds_is_drawn_and_expanded_without_code(tmp_path: Path) -> None:
    added = """
  - name: silicosis
    spellings: {plain: [silicosis], acute: [acute silicosis]}
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
"""
    file = tmp_path / "pathways.yaml"
    file.write_text(resource("pathways.yaml").read_text() + added)
    own = load_dictionary(file, vocabulary())
    assert list(pathway_tree(own, "silicosis").written()) == [
        "silicosis",
        "    if any view (silicosis_1)",
        "        nodules (at: bilateral upper lung; morphology: rounded)",
        "    if acute, any view (silicosis_2)",
        "        consolidation (strength 0.5)",
        "            opacity (at: airspace)",
        "            absent: volume loss",
    ]
    assert "## silicosis" in page(own, "pathways")
    assert pixels(pathway_picture(own, "silicosis")).size > 0
    outcome = run([said("silicosis", "tp", p=0.8, onset="acute")], pathways=own)
    assert outcome.rows["support"].tolist() == pytest.approx([0.8, 0.4, 0.4, 0.4])
