"""The files are in the published formats, the same for the same seed, and whole."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from another_process import printed_here_and_elsewhere
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from sample_corpus import Sample, cell, read, references

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample import synthetic_studies, write_sample

COLUMNS = [
    "",
    "subject_id",
    "study_id",
    "sequence",
    "section",
    "report",
    "sent_idx",
    "sent",
    "ent_idx",
    "ent",
    "normed_ent",
    "cat",
    "dx_status",
    "dx_certainty",
    "location",
    "evidence",
    "associate",
    "placement",
    "morphology",
    "distribution",
    "measurement",
    "severity",
    "comparison",
    "onset",
    "no change",
    "improved",
    "worsened",
    "past hx",
    "other source",
    "assessment limitations",
]
METADATA = [
    "dicom_id",
    "subject_id",
    "study_id",
    "PerformedProcedureStepDescription",
    "ViewPosition",
    "Rows",
    "Columns",
    "StudyDate",
    "StudyTime",
    "ProcedureCodeSequence_CodeMeaning",
    "ViewCodeSequence_CodeMeaning",
    "PatientOrientationCodeSequence_CodeMeaning",
]
FILES = ["Lunguage.csv", "Lunguage_vocab.csv", "corpus.toml", "mimic-cxr-2.0.0-metadata.csv"]


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as handle:
        return handle.readline().rstrip("\n").split(",")


def test_the_folder_holds_exactly_the_published_files_and_says_that_it_is_synthetic(sample: Sample) -> None:
    assert sorted(path.name for path in sample.folder.iterdir()) == FILES
    assert tomllib.loads((sample.folder / "corpus.toml").read_text()) == {
        "name": "synthetic",
        "data_class": "synthetic",
    }


def test_the_columns_are_those_of_the_published_files_in_their_order(sample: Sample) -> None:
    assert header(sample.folder / "Lunguage.csv") == COLUMNS
    assert header(sample.folder / "mimic-cxr-2.0.0-metadata.csv") == METADATA
    assert header(sample.folder / "Lunguage_vocab.csv") == [
        "category",
        "subcategory",
        "target_term",
        "normed_term",
        "UMLS (w code)",
    ]


def test_ids_are_well_formed_and_from_a_range_that_no_real_corpus_uses(sample: Sample) -> None:
    assert [row[""] for row in sample.rows] == [str(number) for number in range(len(sample.rows))]
    assert all(row["subject_id"][:3] == "p90" and len(row["subject_id"]) == 9 for row in sample.rows)
    assert all(row["study_id"][:3] == "s90" and len(row["study_id"]) == 9 for row in sample.rows)
    assert all(image["subject_id"].isdigit() and image["study_id"].isdigit() for image in sample.images)
    assert len({image["dicom_id"] for image in sample.images}) == len(sample.images)


def test_the_report_contains_every_sentence_and_spans_lines(sample: Sample) -> None:
    assert all(row["sent"] in row["report"] and "\n" in row["report"] for row in sample.rows)
    assert all(len({row["report"] for row in rows}) == 1 for rows in sample.studies.values())


def test_findings_are_numbered_from_one_in_every_section_and_sentences_in_order(sample: Sample) -> None:
    for rows in sample.studies.values():
        numbers = defaultdict(list)
        sentences = defaultdict(list)
        for row in rows:
            numbers[row["section"]].append(int(row["ent_idx"]))
            sentences[row["section"]].append(int(row["sent_idx"]))
        assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
        assert all(found == sorted(found) for found in sentences.values())
    assert max(int(row["ent_idx"]) for row in sample.rows) >= 11


def test_a_patient_has_several_studies_in_order_of_time(sample: Sample) -> None:
    sequences = defaultdict(list)
    dates = {image["study_id"]: (image["StudyDate"], image["StudyTime"]) for image in sample.images}
    for study, rows in sample.studies.items():
        sequences[rows[0]["subject_id"]].append((int(rows[0]["sequence"]), study))
    assert all([rank for rank, _ in found] == list(range(1, len(found) + 1)) for found in sequences.values())
    assert sum(len(found) > 1 for found in sequences.values()) > len(sequences) / 2
    for found in sequences.values():
        dated = [dates[study[1:]] for _, study in found if study[1:] in dates]
        assert dated == sorted(dated)


def test_every_numbered_reference_names_a_row_of_the_study_and_some_names_are_bare(sample: Sample) -> None:
    kinds: Counter[str] = Counter()
    for rows in sample.studies.values():
        here = {(row["section"], int(row["ent_idx"])): row["ent"].lower() for row in rows}
        for row in rows:
            for name, number in references(row["evidence"]) + references(row["associate"]):
                if number is None:
                    kinds["bare"] += 1
                elif here.get((row["section"], number)) == name:
                    kinds["same section"] += 1
                    kinds["high"] += number >= 11
                else:
                    assert any(found == name and key[1] == number for key, found in here.items())
                    kinds["other section"] += 1
    assert kinds["same section"] > 1000
    assert all(kinds[kind] >= 5 for kind in ("bare", "other section", "high"))


def test_statuses_and_empty_cells_are_as_untidy_as_in_the_published_files(sample: Sample) -> None:
    written = Counter(row["dx_status"] for row in sample.rows) + Counter(
        row["dx_certainty"] for row in sample.rows
    )
    assert {"Positive", "DEFINITIVE", "positive|negative", "tentative|definitive"} <= written.keys()
    assert {form.split("|")[0].lower() for form in written} == {
        "positive",
        "negative",
        "definitive",
        "tentative",
    }
    assert sum(count for form, count in written.items() if form.islower() and "|" not in form) > 0.93 * sum(
        written.values()
    )
    empty = Counter(value for row in sample.rows for value in list(row.values())[14:] if not cell(value))
    assert empty["nan"] > 100
    assert empty[""] > 50 * empty["nan"]


def test_the_vocabulary_knows_every_finding_place_and_attribute_that_the_reports_use(sample: Sample) -> None:
    names = {(term["category"], term["target_term"]): term["normed_term"] for term in sample.terms}
    for row in sample.rows:
        assert names[(row["cat"].upper(), row["ent"].lower())] == row["normed_ent"]
    for column in COLUMNS[14:15] + COLUMNS[17:]:
        used = {
            part.strip().lower()
            for row in sample.rows
            for part in cell(row[column]).split(",")
            if part.strip()
        }
        assert used <= {term for category, term in names if category == column}


def test_the_vocabulary_maps_spellings_to_canonical_forms_and_invents_no_codes(sample: Sample) -> None:
    names = {term["target_term"]: term["normed_term"] for term in sample.terms}
    assert [names[word] for word in ("effusion", "pna", "chf", "rul", "left base")] == [
        "pleural effusion", "pneumonia", "congestive heart failure", "right upper lobe", "left lung base",
    ]  # fmt: skip
    assert all(names.get(canonical, canonical) == canonical for canonical in names.values())
    assert len({(term["category"], term["target_term"]) for term in sample.terms}) == len(sample.terms)
    assert all(term["UMLS (w code)"] == "" and term["subcategory"] for term in sample.terms)


def test_a_sample_is_byte_identical_for_its_seed_whatever_the_hash_seed(
    tmp_path: Path,
) -> None:
    program = (
        "import hashlib, tempfile\n"
        "from pathlib import Path\n"
        "from lunguage_assets.sample import write_raw_sample, write_sample\n"
        f"folder = Path(tempfile.mkdtemp(dir={str(tmp_path)!r}))\n"
        "write_sample(folder / 'sample', 60, 5)\n"
        "write_raw_sample(folder / 'raw', folder / 'truth', 60, 5)\n"
        "files = sorted(path for path in folder.rglob('*') if path.is_file())\n"
        "print([(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files])\n"
    )
    here, elsewhere = printed_here_and_elsewhere(program)
    assert here == elsewhere
    assert all(name in here for name in (*FILES, "reports.csv"))


def test_another_seed_is_another_corpus(tmp_path: Path) -> None:
    write_sample(tmp_path / "a", 20, 0)
    write_sample(tmp_path / "b", 20, 1)
    assert (tmp_path / "a" / "Lunguage.csv").read_bytes() != (tmp_path / "b" / "Lunguage.csv").read_bytes()
    assert (tmp_path / "a" / "Lunguage_vocab.csv").read_bytes() == (
        tmp_path / "b" / "Lunguage_vocab.csv"
    ).read_bytes()


@examples(8)
@given(seed=st.integers(0, 10**6), few=st.integers(1, 60), more=st.integers(0, 250))
def test_a_smaller_sample_is_the_beginning_of_a_larger_one(seed: int, few: int, more: int) -> None:
    small = [study.report for study in synthetic_studies(few, seed)]
    large = [study.report for study, _ in zip(synthetic_studies(few + more, seed), range(few), strict=False)]
    assert small == large
    assert len(small) == few


def test_a_sample_replaces_a_sample_but_no_corpus_of_another_kind(tmp_path: Path) -> None:
    write_sample(tmp_path / "out", 5)
    write_sample(tmp_path / "out", 3)
    assert len({row["study_id"] for row in read(tmp_path / "out" / "Lunguage.csv")}) == 3
    (tmp_path / "out" / "corpus.toml").write_text('data_class = "credentialed"\n')
    before = (tmp_path / "out" / "Lunguage.csv").read_bytes()
    with pytest.raises(ConfigurationError, match="not declared synthetic"):
        write_sample(tmp_path / "out", 5)
    assert (tmp_path / "out" / "Lunguage.csv").read_bytes() == before


def test_a_failure_half_way_leaves_the_earlier_sample_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(tmp_path / "out", 5)
    before = {name: (tmp_path / "out" / name).read_bytes() for name in FILES}

    def fail(*_: object) -> list[list[str]]:
        raise OSError("disk full")

    monkeypatch.setattr("lunguage_assets.sample.published.files.image_rows", fail)
    with pytest.raises(OSError, match="disk full"):
        write_sample(tmp_path / "out", 50)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_sample_has_less_than_one_report(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="at least one"):
        write_sample(tmp_path / "out", 0)
