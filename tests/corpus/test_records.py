"""One broken record costs itself and nothing after it."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.corpus import records
from lunguage_assets.corpus.records import UNREADABLE, cleaned, read_records
from lunguage_assets.errors import InputError

HEADER = "row,subject_id,study_id,text\n"


class Record(NamedTuple):
    number: int
    values: list[str]
    broken: str = ""
    found: str = ""
    raw: str = ""


def read(path: Path, **options: Any) -> list[Record]:
    """Good and broken records of a table, by number."""
    table = read_records(path, **options)
    good = [Record(number, row) for number, *row in table.values.itertuples()]
    broken = [Record(number, [], *why) for number, *why in table.broken.itertuples()]
    return sorted(good + broken)


def records_of(folder: Path, content: str | bytes, name: str = "f.csv") -> list[Record]:
    (folder / name).write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    return read(folder / name)


def line(number: int, text: str = "good") -> str:
    return f"{number},p10000001,s5000000{number},{text}\n"


def test_any_newline_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    text = HEADER + line(1, '"two\nlines, and ""quotes"""') + "\n" + line(2)
    for newline, encoding in (("\n", "utf-8-sig"), ("\r\n", "utf-8"), ("\r", "utf-16")):
        content = text.replace("\n", newline).encode(encoding)
        records = records_of(tmp_path, content)
        numbers = [(record.number, record.broken) for record in records]
        assert numbers == [(1, ""), (2, "")]
        assert records[0].values[3] == f'two{newline}lines, and "quotes"'


def test_a_compressed_file_reads_the_same_and_a_cut_one_is_refused(
    tmp_path: Path,
) -> None:
    packed = gzip.compress(
        (HEADER + "".join(line(n, "x" * 50) for n in range(1, 9))).encode()
    )
    assert len(records_of(tmp_path, packed, "f.csv.gz")) == 8
    with pytest.raises(InputError, match="cannot be read or unpacked"):
        records_of(tmp_path, packed[: len(packed) // 2], "f.csv.gz")


UNUSABLE = {
    b"": "an empty file", b"\n\n": "an empty file", HEADER.encode(): "no data row",
    b"a;b;c\n1;2;3\n": "a single column", b"a b,c,A_B\n1,2,3\n": "repeated columns",
    b'a,"b\n1,2\n': "an open quote",
}  # fmt: skip


def test_an_unusable_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    for content, message in UNUSABLE.items():
        with pytest.raises(InputError, match=message):
            records_of(tmp_path, content)


SWALLOWED = {
    # Closed by a stray quote, with the right number of values.
    's50000001,"open\ns50000002,No effusion.\ns50000003,stray"\n': 2,
    's50000001,"open\ns50000002,stray"\n': 1,
    's50000001,"open\ns50000002,a\ns50000003,b\nand a stray" quote\n': 2,
    # Closed by the quote of another report, or by none.
    's50000001,"open\ns50000002,"closed"\n': 1,
    's50000001,"open\ns50000002,No effusion.\ns50000003,No edema.\n': 2,
}
"""Tables in which a quote that is not closed swallows rows, and how many."""


def test_rows_that_an_open_quote_swallows_are_read_and_it_is_rejected(
    tmp_path: Path,
) -> None:
    for content, rows in SWALLOWED.items():
        read_again = records_of(tmp_path, "study_id,report\n" + content)
        broken = [record.broken for record in read_again][: rows + 1]
        assert broken == [UNREADABLE, *[""] * rows]


DATED = '"FINDINGS:\n20240101\n12345678, portable\n50000009,pasted\nNo effusion."'


def test_a_broken_record_costs_no_good_one_behind_it(tmp_path: Path) -> None:
    """Where the first quote closes in the next record, both are searched; lines of
    digits in quotes are a part of their report.
    """
    for header in ("study_id,report", "uid,report"):
        content = f'{header}\n50000001,{DATED}\n50000002,"open\n50000003,{DATED}\n'
        content += f"50000004,good\n50000005,{DATED}\n"
        read_again = records_of(tmp_path, content)
        good = [record.values[0] for record in read_again if not record.broken]
        assert good == ["50000001", "50000003", "50000004", "50000005"]


def test_columns_that_are_not_wanted_are_not_decoded(tmp_path: Path) -> None:
    """What no footer can bound, a list of lists, does not matter in another column."""
    table = pa.table(
        {"study_id": ["1"], "report": ["No effusion."], "vectors": [[[1, 2]]]}
    )
    pq.write_table(table, tmp_path / "f.parquet")
    table_read = read_records(tmp_path / "f.parquet", ["study_id", "report"])
    assert cleaned(table_read.values, ["study_id"]).values.tolist() == [["1"]]
    with pytest.raises(InputError, match=r"found damaged data, or lists.*one text"):
        read_records(tmp_path / "f.parquet", ["vectors"])


def test_values_of_parquet_are_read_as_texts(tmp_path: Path) -> None:
    no_day = pa.array([0, None, 2**62], pa.timestamp("us"))
    table = pa.table({"text": [b"good", b"b", b""], "taken": no_day})
    pq.write_table(table, tmp_path / "f.parquet")
    values = read_records(tmp_path / "f.parquet").values
    assert values["text"].tolist() == ["good", "b", ""]
    assert values["taken"][2] == ""
    assert "out of range" in values["taken"][3]
    raw = pa.array([b"Secret caf\xe9"])
    text = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
    pq.write_table(pa.table({"a": text, "b": text}), tmp_path / "f.parquet")
    with pytest.raises(InputError, match=r"damaged data.*Deliver it again") as caught:
        read_records(tmp_path / "f.parquet")
    assert "Secret" not in str(caught.value)


def test_quotes_left_open_on_every_line_are_read_once(tmp_path: Path) -> None:
    content = "a,b\n" + 'a",",x\n' * 300_000
    assert all(record.broken for record in records_of(tmp_path, content))


PLAIN = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffd")
TEXT = st.text(PLAIN | st.sampled_from('",\n\r'), max_size=12)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_whatever_text_was_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    rows = [[str(n), "p10000001", "s50000001", *pair] for n, pair in enumerate(texts)]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["row", "subject_id", "study_id", "a", "b"], *rows])
    records = records_of(tmp_path_factory.mktemp("records"), out.getvalue())
    assert [record.values for record in records] == rows


TEXTS = ["good", '"quoted, text"', '"two\nlines"', 'stray"quote', "a,b", '""']


@given(
    st.lists(st.sampled_from(TEXTS), max_size=8),
    st.integers(0, 8),
    st.sampled_from(['"open', '"', '"shut"again']),
)
def test_good_records_survive_any_neighbours(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], at: int, broken: str
) -> None:
    """Records alternate between any text, of which one does not parse, and a good one:
    every good one is there, and every begun record is accounted for.
    """
    texts.insert(at, broken)
    content = HEADER + "".join(
        f"{2 * n},p10000001,s50000001,{text}\n{2 * n + 1},p10000001,s50000001,fine\n"
        for n, text in enumerate(texts)
    )
    records = records_of(tmp_path_factory.mktemp("records"), content)
    fine = [record.values[0] for record in records if record.values[3:] == ["fine"]]
    assert fine == [str(2 * n + 1) for n in range(len(texts))]
    assert len(records) == 2 * len(texts)


def test_a_cell_beyond_the_limit_costs_its_record_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_CELL_LIMIT", 1 << 20)
    for quote in ('"', ""):
        large = quote + "word " * 300_000 + quote
        content = f"study_id,report\ns50000001,{large}\ns50000002,No effusion.\n"
        first, second = records_of(tmp_path, content)
        assert first.broken == UNREADABLE
        assert len(first.raw) < 30_000
        assert second.values == ["s50000002", "No effusion."]
