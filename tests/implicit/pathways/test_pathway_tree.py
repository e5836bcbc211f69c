"""Claims about the trees of the pathways: they hold the whole dictionary, down to the leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from invented_reports import dictionary, run, said, vocabulary

from lunguage_assets.data_files import resource
from lunguage_assets.implicit.pathways.pathway_tree import SOMETIMES, Branch, pathway_tree
from lunguage_assets.implicit.pathways.pathways import load_dictionary

DIAGNOSES = tuple(dictionary().diagnoses)


def leaves(branch: Branch) -> list[Branch]:
    return [leaf for child in branch.children for leaf in leaves(child)] if branch.children else [branch]


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


def test_a_diagnosis_that_a_person_adds_is_shown_and_expanded_without_code(tmp_path: Path) -> None:
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
    outcome = run([said("silicosis", "tp", p=0.8, onset="acute")], pathways=own)
    assert outcome.rows["support"].tolist() == pytest.approx([0.8, 0.4, 0.4, 0.4])
