"""Ids of any hospital become ids of the tables, the same in every delivery, and nobody
shares one.
"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.corpus.texts.raw import own_patient_of, patient_of, study_of
from lunguage_assets.tables.columns import A_PATIENT, A_STUDY

KEPT = {
    "50414267": "s50414267", "s50414267": "s50414267", "S50414267.0": "s50414267", "7": "s00000007",
    "0123456789012345": "s123456789012345", "123456789012345678": "s123456789012345678",
}  # fmt: skip


def test_numbers_of_up_to_eighteen_digits_are_kept() -> None:
    assert {name: study_of(name) for name in KEPT} == KEPT


@given(st.text(min_size=1))
def test_every_id_has_the_form_of_the_tables(delivered_id: str) -> None:
    assert re.fullmatch(A_STUDY, study_of(delivered_id))
    assert re.fullmatch(A_PATIENT, patient_of(delivered_id))


def test_other_ids_are_numbered_the_same_everywhere() -> None:
    assert study_of("ACC-2014/17") == study_of(" ACC-2014/17 ")
    ids = {study_of(f"ACC-{number}") for number in range(5000)}
    assert len(ids) == 5000
    assert all(len(study_id) == 18 for study_id in ids)


def test_a_study_without_a_patient_shares_none() -> None:
    named = [patient_of("50000001"), patient_of("s50000001")]
    assert own_patient_of("s50000001") not in named
    assert own_patient_of("s50000001") != own_patient_of("s50000002")
