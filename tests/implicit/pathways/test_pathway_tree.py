"""Trees of the pathways: every pathway with every sub-finding, and what a person adds."""

from __future__ import annotations

from pathlib import Path

import pytest
from invented_reports import dictionary, run, said, vocabulary

from lunguage_assets.data_files import resource
from lunguage_assets.implicit.pathways.pathways import load_dictionary, pathway_tree


def test_a_tree_has_every_pathway_with_every_sub_finding() -> None:
    for diagnosis in dictionary().diagnoses:
        lines = list(pathway_tree(dictionary(), diagnosis))
        assert lines.pop(0) == diagnosis
        for pathway in dictionary().pathways_of(diagnosis):
            assert lines.pop(0).endswith(f"({pathway.id})")
            for edge in pathway.edges:
                line = lines.pop(0)
                assert edge.ent in line
                assert ("absent: " in line) == (edge.status == "dn")
                assert (f"at: {edge.location}" in line) == bool(edge.location)
                assert all(value in line for value in edge.attributes.values())
        assert lines == []


def test_every_situation_of_the_effusion_reads_differently() -> None:
    written = pathway_tree(dictionary(), "pleural effusion")
    titles = [line.strip().split(" (")[0] for line in written if line.startswith("    if ")]
    assert len(set(titles)) == len(titles) == 11
    assert titles[0] == "if posture erect"
    assert titles[6] == "if views ap or lateral or ap + lateral, posture unknown"
    assert titles[9] == "if loculated, any view"


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
          - {finding: fluid, status: dn, strength: 0.5}
"""
    file = tmp_path / "pathways.yaml"
    file.write_text(resource("pathways.yaml").read_text() + added)
    own = load_dictionary(file, vocabulary())
    assert list(pathway_tree(own, "silicosis")) == [
        "silicosis",
        "    if any view (silicosis_1)",
        "        nodules (at: bilateral upper lung; morphology: rounded)",
        "    if acute, any view (silicosis_2)",
        "        consolidation (strength 0.5; a diagnosis)",
        "        absent: fluid (strength 0.5)",
    ]
    rows = run([said("silicosis", "tp", p=0.8, onset="acute")], pathways=own).rows
    assert rows["support"].tolist() == pytest.approx([0.8, 0.4, 0.4, 0.4, 0.4])
    assert rows.set_index("name").loc["fluid", ["prob", "p_high"]].tolist() == pytest.approx([0.3, 0.8])
