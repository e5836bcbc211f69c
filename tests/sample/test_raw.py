"""Raw reports in varied prose: their rows quote them, their text varies, and the truth lies elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.cli.making.sample import sample
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample import synthetic_studies, write_raw_sample
from lunguage_assets.sample.raw.anchoring import quotes
from lunguage_assets.sample.raw.styles import layouts
from lunguage_assets.sample.raw_delivery import RawFormat
from lunguage_assets.sample.records import Study

STUDIES = list(synthetic_studies(400, 3, "varied"))


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@examples(5)
@given(seed=st.integers(0, 10**6))
def test_every_row_quotes_its_sentence_and_every_sentence_its_report(seed: int) -> None:
    for study in synthetic_studies(40, seed, "varied"):
        report = flat(study.report)
        for sentence in (sentence for sentences in study.sections.values() for sentence in sentences):
            assert flat(sentence.text) in report
            for fact in sentence.facts:
                values = [fact.words, *", ".join((fact.location, *fact.attributes.values())).split(", ")]
                assert all(quotes(sentence.text, value) for value in values if value)


@pytest.mark.parametrize(
    "form",
    [
        r"(?m)^ {20,}FINAL REPORT$", r"(?m)^IMPRESSION:", r"(?m)^Impression:", r"(?m)^ ?CONCLUSION:",
        r"WET READ", r"(?m)^ ?1\. ", r"(?m)^ ?1\) ", r"(?m)^ ?[-*] ", r"(?m)^LUNGS: ", r"___",
        r"EXAMINATION:", r"TECHNIQUE:", r"(?i)negative for", r"(?i)is not seen", r"(?i)lungs clear\.",
        r"(?i)without", r"(?i)\?\w+\.", r" // ", r"(?i)unlikely", r"(?i)cannot be", r"(?i)versus",
        r"(?i)and/or", r"(?i)has resolved", r"(?i)no change in", r"(?i)if .* (?:concern|persist)",
        r"(?i)is recommended", r"(?i)has been removed", r"(?i)rather than",
    ],
)  # fmt: skip
def test_reports_are_worded_and_laid_out_in_many_ways(form: str) -> None:
    found = sum(re.search(form, study.report) is not None for study in STUDIES)
    assert 0 < found < len(STUDIES)


def test_some_reports_have_no_heading_and_others_break_their_lines() -> None:
    bare = [study for study in STUDIES if ":" not in study.report]
    assert bare
    assert all(not study.sections["hist"] and not study.sections["impr"] for study in bare)
    widths = Counter(max(map(len, study.report.splitlines())) <= 81 for study in STUDIES)
    assert min(widths[True], widths[False]) > 40
    assert len(layouts()) == len({layout.name for layout in layouts()})


def test_sentences_repeat_far_less_than_in_plain_prose() -> None:
    def said(studies: list[Study]) -> float:
        sentences = [one.text for study in studies for one in study.sections["find"]]
        return len(set(sentences)) / len(sentences)

    assert said(STUDIES) > said(list(synthetic_studies(400, 3))) > 0.1
    assert said(STUDIES) > 0.5


def test_a_smaller_varied_sample_is_the_beginning_of_a_larger_one() -> None:
    assert [study.report for study in synthetic_studies(30, 3, "varied")] == [s.report for s in STUDIES[:30]]


@pytest.mark.parametrize("form", ["table", "mimic", "text"])
def test_raw_reports_and_their_truth_are_of_the_same_studies(form: RawFormat, tmp_path: Path) -> None:
    out, truth = tmp_path / "raw", tmp_path / "truth"
    summary = write_raw_sample(out, truth, 25, 4, form=form)
    rows = pd.read_csv(truth / "Lunguage.csv", dtype=str, keep_default_na=False)
    reports = dict(zip(rows["study_id"], rows["report"], strict=True))
    if form == "table":
        table = pd.read_csv(out / "reports.csv", dtype=str, keep_default_na=False)
        written = dict(zip(table["study_id"], table["report"], strict=True))
        assert list(table.columns) == ["study_id", "subject_id", "view", "study_date", "report"]
    else:
        written = {path.stem: path.read_text() for path in out.rglob("s*.txt")}
    assert len(written) == summary.reports == 25
    assert all(written[study] == report for study, report in reports.items())
    assert 'data_class = "synthetic"' in (out / "corpus.toml").read_text()
    assert not list(out.rglob("Lunguage*.csv"))


def test_mimic_folders_are_named_after_patient_and_study_with_the_metadata_beside_them(
    tmp_path: Path,
) -> None:
    write_raw_sample(tmp_path / "raw", tmp_path / "truth", 5, form="mimic")
    paths = sorted(str(path.relative_to(tmp_path / "raw")) for path in (tmp_path / "raw").rglob("*.txt"))
    assert all(re.fullmatch(r"files/p90/p900000\d\d/s9000000\d\.txt", path) for path in paths)
    assert (tmp_path / "raw" / "mimic-cxr-2.0.0-metadata.csv").exists()


def test_the_truth_is_tidy(tmp_path: Path) -> None:
    write_raw_sample(tmp_path / "raw", tmp_path / "truth", 60)
    rows = pd.read_csv(tmp_path / "truth" / "Lunguage.csv", dtype=str, keep_default_na=False)
    assert set(rows["dx_status"]) == {"positive", "negative"}
    assert set(rows["dx_certainty"]) == {"definitive", "tentative"}
    assert not (rows == "nan").any(axis=None)


def test_raw_reports_and_truth_never_share_a_folder_or_replace_a_real_delivery(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="two folders"):
        write_raw_sample(tmp_path / "raw", tmp_path / "raw", 3)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "reports.csv").write_text("study_id,report\n")
    with pytest.raises(ConfigurationError, match="not declared synthetic"):
        write_raw_sample(tmp_path / "raw", tmp_path / "truth", 3)
    assert (tmp_path / "raw" / "reports.csv").read_text() == "study_id,report\n"


def test_the_command_writes_raw_reports_and_says_where_the_truth_is(tmp_path: Path) -> None:
    out = tmp_path / "archive"
    run = CliRunner().invoke(sample, ["--reports", "4", "--out", str(out), "--as-text", "text"])
    assert run.exit_code == 0
    assert run.output.endswith(f"what they say, in {tmp_path / 'archive-truth'}\n")
    assert len(list(out.glob("s*.txt"))) == 4
    plain = CliRunner().invoke(sample, ["--reports", "4", "--out", str(tmp_path / "plain")])
    assert plain.exit_code == 0
    assert not (tmp_path / "plain-truth").exists()
