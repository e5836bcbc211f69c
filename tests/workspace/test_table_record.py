"""Records of tables that are stored already stay what they are: a home stays
current.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.workspace.table_record import Lineage, TableRecord

RECORD = TableRecord(
    table="terms",
    keys=("first",),
    made_of=Lineage(
        code="4",
        inputs={"report_texts/first": "0123456789abcdef"},
        reads={"delivery": "ab"},
    ),
    content="c0ffee",
)
SET_ASIDE = (("s10000001", "findings", "findings", "rule", ("s10000001:1",), "p 2"),)


def test_the_version_of_a_record_is_that_of_stored_files() -> None:
    assert RECORD.version == "d3dff8cab6645102"
    assert replace(RECORD, set_aside=SET_ASIDE).version == "e1aa195483a1c3e6"


def test_a_record_is_written_with_the_names_of_stored_files() -> None:
    assert RECORD.to_json() == (
        '{"content": "c0ffee", "keys": ["first"], "made_of": {"code": "4", "inputs": '
        '{"report_texts/first": "0123456789abcdef"}, "reads": {"delivery": "ab"}}, '
        '"table": "terms"}'
    )
