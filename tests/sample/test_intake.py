"""The sample goes through intake whole: nothing is rejected, and the notes are those that it is meant to
cause.
"""

from __future__ import annotations

from sample_corpus import Sample

from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.settings import CorpusSettings


def test_intake_rejects_nothing_and_notes_only_what_is_intended(sample: Sample) -> None:
    delivery = find_delivery(sample.folder)
    assert delivery.declared.data_class == "synthetic"
    intake = take_in(delivery, CorpusSettings())
    assert (len(intake.rejected), len(intake.findings), len(intake.reports)) == (0, len(sample.rows), 800)
    intended = {"bare-reference", "finding-not-located", "first-of-alternatives", "unknown-view"}
    assert set(intake.intake_notes["reason"]) == intended
    assert set(intake.reports["view_source"]) == {"metadata", "procedure text", "unknown"}
    assert (
        intake.findings["name"]
        == [row["normed_ent"] for row in sorted(sample.rows, key=lambda row: int(row[""]))]
    ).mean() > 0.97
