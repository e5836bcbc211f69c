"""Output of `lunguage-score` is read as findings, sentence by sentence."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from landing_drops import score_output

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings


def findings(folder: Path, output: pd.DataFrame) -> pd.DataFrame:
    output.to_csv(folder / "Lunguage.csv", index=False)
    return take_in(find_delivery(folder), CorpusSettings()).findings


def test_its_rows_are_read_sentence_by_sentence(tmp_path: Path) -> None:
    passages = {
        "find": "(1) A possible opacity.(2) There is edema, type (2).",
        "impr": "(1) Opacity may be there.(2) Edema.",
    }
    frame = findings(tmp_path, score_output(passages))
    sentences = [
        "A possible opacity.",
        "There is edema, type (2).",
        "Opacity may be there.",
        "Edema.",
    ]
    assert frame["sent"].tolist() == sentences
    assert frame["section"].tolist() == ["find", "find", "impr", "impr"]
    assert frame["status"].tolist() == ["tp", "dp", "tp", "dp"]
    assert frame["masked_sentence"].dropna().tolist() == [
        "A possible <finding>.",
        "<finding> may be there.",
    ]
    assert frame["evidence"].tolist()[0] == ["s50000001:1"]
    with pytest.raises(InputError, match="column 'sent_idx'"):
        findings(tmp_path, score_output(passages).drop(columns="sent_idx"))


def test_column_sent_goes_before_column_sentences(
    tmp_path: Path,
) -> None:
    plain = score_output({"find": "Edema is seen."}).assign(dx_certainty="definitive")
    assert set(findings(tmp_path, plain)["sent"]) == {"Edema is seen."}
    assert set(findings(tmp_path, plain.assign(sent="Its own."))["sent"]) == {
        "Its own."
    }
