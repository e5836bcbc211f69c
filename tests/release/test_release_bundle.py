"""A release as a version with two parts: what is in it, that nothing of a report is in the open one, what
changed and why.
"""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from platform_support import contents
from small_release import WORD, Made, assembled, resolved

from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.data_files import resource
from lunguage_assets.errors import MethodError
from lunguage_assets.release.bundle.bundle import Release, Written, bundle, write_bundle
from lunguage_assets.settings import load_settings


def write(made: Made, folder: Path, *batches: str) -> Path:
    """The folder of the version that is written of these batches, by default all."""
    return folder / write_bundle(made.release(*batches), folder, made.origin(), {}, made.examples).version


@pytest.fixture
def unreported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures and a short report, for tests that look at neither."""
    monkeypatch.setattr(bundle, "report_sections", lambda _: [])


@pytest.fixture(scope="module")
def version(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(invented, tmp_path_factory.mktemp("release") / "panel")


@pytest.fixture(scope="module")
def of_patients(patients: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second version of patients' reports, so that the open part has a change log with counts."""
    folder = tmp_path_factory.mktemp("release") / "panel"
    write(patients, folder, "first")
    return write(patients, folder)


def test_every_checksum_holds_for_the_version_and_for_each_part_alone(version: Path, tmp_path: Path) -> None:
    shutil.copytree(version / "open", tmp_path / "passed_on")
    for folder in (version, version / "restricted", tmp_path / "passed_on"):
        done = subprocess.run(
            ["sha256sum", "--check", "--quiet", "SHA256SUMS"],
            cwd=folder,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_the_newest_files_have_the_names_that_they_always_had(version: Path) -> None:
    expected = {
        "Lunguage_plus_plus.csv", "Lunguage_plus_plus.parquet", "resolution_log.csv", "conflicts.csv", "pathway_matches.csv", "accounting.csv",
        "rejected.csv", "labels.parquet", "labels.csv", "LABELS.md", "TABLES.md", "table_certainty.csv", "table_expansion.csv",
        "table_conflicts.csv", "table_figures.csv", "summary.json",
    }  # fmt: skip
    beside = version.parent
    assert (beside / "LATEST").read_text() == f"{version.name}\n"
    for name in expected:
        assert (beside / name).read_bytes() == (version / "restricted" / name).read_bytes()
    for name in ("report.html", "ranking.csv", "provenance.json", "data_dictionary.md"):
        assert (beside / name).read_bytes() == (version / "open" / name).read_bytes()


def test_every_column_of_every_file_is_in_the_data_dictionary_and_no_other_file_is(version: Path) -> None:
    page = (version / "open" / "data_dictionary.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    described = {
        file: body for heading, body in sections.items() for file in re.findall(r"`([^`]+)`", heading)
    }
    files = [
        path
        for part in ("open", "restricted")
        for path in (version / part).iterdir()
        if path.suffix in (".csv", ".parquet")
    ]
    assert set(described) == {str(path.relative_to(version)) for path in files}
    for path in files:
        columns = (
            pq.read_schema(path).names
            if path.suffix == ".parquet"
            else list(pd.read_csv(path, nrows=0).columns)
        )
        told = re.findall(r"^\| `(.+?)` \|", described[str(path.relative_to(version))], re.MULTILINE)
        assert told == columns, path.name


def test_the_same_release_gives_the_same_bytes_whatever_the_order_of_its_rows(
    invented: Made, version: Path, tmp_path: Path
) -> None:
    shuffled = invented.release()
    tables = {
        name: frame.sample(frac=1, random_state=random.Random(name).randrange(99))
        for name, frame in shuffled.tables.items()
        if name in ("lunguage_plus_plus", "reports")
    }
    again = replace(shuffled, tables={**shuffled.tables, **tables})
    written = write_bundle(again, tmp_path / "panel", invented.origin(), {}, invented.examples)
    assert contents(tmp_path / "panel") == contents(version.parent)
    once_more = write_bundle(again, tmp_path / "panel", invented.origin(), {}, invented.examples)
    assert (once_more.version, once_more.is_new) == (written.version, False)


@pytest.mark.usefixtures("unreported")
def test_costs_alone_make_no_new_version(invented: Made, version: Path, tmp_path: Path) -> None:
    origin = replace(invented.origin(), costs=None)
    written = write_bundle(invented.release(), tmp_path, origin, {}, invented.examples)
    assert written.version == version.name
    assert json.loads((tmp_path / "provenance.json").read_text())["costs"]["basis"] == "there was no ledger"


# --- what the open part may hold
# ----------------------------------------------------------------------------------------------------


def said(path: Path) -> str:
    """Everything that a file says: its bytes as text, chunks and columns unpacked, pictures inside a page
    too.
    """
    data = path.read_bytes()
    parts = [data.decode("utf-8", "replace"), data.decode("utf-16-le", "replace")]
    if path.suffix == ".parquet":
        parts += [str(column) for column in pq.read_table(path).to_pylist()]
        parts.append(str(pq.read_metadata(path).metadata))
    pictures = (
        [data]
        if path.suffix == ".png"
        else [
            base64.b64decode(found) for found in re.findall(rb"data:image/png;base64,([A-Za-z0-9+/=]+)", data)
        ]
    )
    return "\n".join([*parts, *(text for picture in pictures for text in chunks(picture))])


def chunks(png: bytes) -> list[str]:
    """Every chunk of a PNG but its pixels, compressed ones unpacked."""
    place, found = 8, []
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + length]
        if kind != b"IDAT":
            found.append(body.decode("latin-1"))
        if kind in (b"zTXt", b"iTXt"):
            found.append(
                zlib.decompress(body.split(b"\x00", 1)[1].lstrip(b"\x00\x01")).decode("utf-8", "replace")
            )
        place += length + 12
    return found


def outside_restricted(version: Path) -> list[Path]:
    return [
        path
        for path in sorted(version.rglob("*"))
        if path.is_file() and "restricted" not in path.relative_to(version).parts
    ]


def test_no_word_or_identifier_of_a_patients_report_is_outside_the_restricted_part(
    patients: Made, of_patients: Path
) -> None:
    reports = patients.release().tables["reports"]
    keys = {*reports["study_id"], *reports["subject_id"]}
    secrets = re.compile("|".join([WORD, WORD.lower(), *sorted(keys)]))
    files = outside_restricted(of_patients)
    assert {path.name for path in files} >= {
        "report.html",
        "CHANGELOG.md",
        "README.md",
        "provenance.json",
        "ranking.png",
        "TABLES.md",
    }
    assert [path.name for path in files if secrets.search(said(path))] == []
    assert not [path for path in files if path.suffix == ".parquet"]
    held = {path.name for path in (of_patients / "restricted").iterdir() if secrets.search(said(path))}
    assert held >= {
        "Lunguage_plus_plus.csv",
        "Lunguage_plus_plus.parquet",
        "rejected.csv",
        "labels.parquet",
        "changes.csv",
    }, "the search finds them"


def test_no_sentence_of_a_report_is_outside_the_restricted_part(patients: Made, of_patients: Path) -> None:
    rows = patients.release().tables["lunguage_plus_plus"]
    pieces = {
        piece.strip()
        for sentence in rows["sent"]
        for piece in sentence.split(f" near the {WORD}")
        if len(piece.split()) > 3
    }
    assert len(pieces) > 20
    for path in outside_restricted(of_patients):
        text = said(path)
        assert not [piece for piece in pieces if piece in text], path.name


def test_counts_of_patients_are_rounded_wherever_the_open_part_shows_them(
    patients: Made, of_patients: Path
) -> None:
    exact = json.loads((of_patients / "restricted" / "summary.json").read_text())
    assert exact["findings"] % 5
    assert exact["reports"] % 5
    pages = [
        (of_patients / path).read_text(encoding="utf-8")
        for path in ("open/report.html", "open/TABLES.md", "CHANGELOG.md", "README.md")
    ]
    assert not [
        number
        for number in (exact["findings"], exact["rows_out"], exact["tentative_pairs"])
        for page in pages
        if re.search(rf"\b{number:,}\b", page) and number % 5
    ]
    figures = pd.read_csv(of_patients / "open" / "table_figures.csv").set_index("measure")["value"]
    assert {float(figures[name]) % 5 for name in ("studies", "delivered rows", "rows out")} == {0.0}
    counted = (
        pd.read_csv(of_patients / "open" / "table_certainty.csv")
        .filter(regex="definitive|tentative")
        .to_numpy()
        .ravel()
    )
    assert {str(value) for value in counted} <= {"<5", *map(str, range(0, 100, 5))}
    assert "<5" in counted
    assert re.search(r"\| added \| delivered again \| \d*[05] \|", pages[2])


def test_of_invented_reports_the_open_part_shows_exact_counts(version: Path) -> None:
    for name in (
        "table_certainty.csv",
        "table_figures.csv",
        "table_conflicts.csv",
        "table_expansion.csv",
        "TABLES.md",
    ):
        assert (version / "open" / name).read_bytes() == (version / "restricted" / name).read_bytes()


def test_each_part_says_what_it_may_be_used_for(version: Path, of_patients: Path) -> None:
    assert "data use agreement" in (of_patients / "restricted" / "USE.md").read_text()
    assert "rounded to multiples of 5" in (of_patients / "open" / "USE.md").read_text()
    assert "invented" in (version / "restricted" / "USE.md").read_text()
    for folder in (version, of_patients):
        text = (folder / "README.md").read_text()
        assert "Unmentioned is not absent" in text
        assert "prob_is_bound" in text
        assert folder.name in text


# --- what changed, and why
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unreported")
def test_a_new_batch_is_told_from_an_amended_study(invented: Made, tmp_path: Path) -> None:
    write(invented, tmp_path, "first")
    newer = write(invented, tmp_path)
    changes = pd.read_csv(newer / "restricted" / "changes.csv")
    first, second = (set(invented.batches[key]["accounting"]["study_id"]) for key in ("first", "second"))
    again = changes[changes["what"] == "delivered again"]
    assert set(again["study_id"]) <= first & second
    assert set(changes.loc[changes["what"] == "new study", "study_id"]) <= second - first
    assert set(changes["what"]) <= {"new study", "delivered again"}
    assert len(again)
    log = (newer / "CHANGELOG.md").read_text()
    counted = re.findall(r"\| (\w+) \| ([a-z ]+) \| ([\d,]+) \| ([\d,]+) \| (.+) \|", log)
    assert {(change, what): int(rows) for change, what, rows, _, _ in counted} == changes.groupby(
        ["change", "what"]
    ).size().to_dict()
    assert {reason for *_, reason in counted} == {"batches second"}
    assert "`batches.second`: included False -> included True" in log
    assert log.index(f"## {newer.name}, against r1-") < log.index("The first version.")


@pytest.mark.usefixtures("unreported")
def test_other_pathways_are_the_reason_for_other_generated_rows(invented: Made, tmp_path: Path) -> None:
    before = write(invented, tmp_path / "panel", "first")
    own = tmp_path / "pathways.yaml"
    own.write_text(
        resource("pathways.yaml").read_text(encoding="utf-8").replace("finding: opacity", "finding: density"),
        encoding="utf-8",
    )
    tables = invented.batches["first"]
    intake = take_in(find_delivery(invented.home.batches / "first"), load_settings().corpus)
    changed = resolved(intake, tables["fitted_probabilities"], invented.ranking, load_settings(), own)
    made = replace(invented, batches={"first": changed, "second": invented.batches["second"]})
    origin = made.origin()
    origin = replace(origin, files={**origin.files, "pathways": ("home", own)})
    written = write_bundle(made.release("first"), tmp_path / "panel", origin, {}, made.examples)
    log = (tmp_path / "panel" / written.version / "CHANGELOG.md").read_text()
    assert f"against {before.name}" in log
    assert set(re.findall(r"\| content \| [\d,]+ \| [\d,]+ \| (.+) \|", log)) == {"pathways file"}
    assert re.search(r"`files.pathways`: from packaged, sha256 \w{12} -> from home, sha256 \w{12}", log)
    assert "finding: density" in (tmp_path / "panel" / "pathways.yaml").read_text()
    changes = pd.read_csv(tmp_path / "panel" / "changes.csv")
    assert set(changes["what"]) == {"content"}
    assert "changed" in set(changes["change"])


def belief_changed(release: Release) -> Release:
    """The same rows under another ranking, one of them believed otherwise."""
    rows = release.tables["lunguage_plus_plus"].assign(ranking_version="another")
    rows.loc[rows.index[0], "support"] = 0.123
    ranking = release.ranking.assign(ranking_version="another")
    return replace(release, ranking=ranking, tables={**release.tables, "lunguage_plus_plus": rows})


@pytest.mark.usefixtures("unreported")
def test_a_new_ranking_is_the_reason_for_other_probabilities_and_names(
    invented: Made, tmp_path: Path
) -> None:
    write(invented, tmp_path, "first")
    release = belief_changed(invented.release("first"))
    written = write_bundle(release, tmp_path, invented.origin(), {}, invented.examples)
    changes = pd.read_csv(tmp_path / written.version / "restricted" / "changes.csv")
    assert len(changes) == len(release.tables["lunguage_plus_plus"])
    assert changes["what"].value_counts().to_dict() == {"provenance": len(changes) - 1, "probability": 1}
    changed = changes.loc[changes["what"] == "probability", "columns"].item()
    assert set(changed.split(",")) == {"support", "ranking_version"}
    log = (tmp_path / written.version / "CHANGELOG.md").read_text()
    assert "| changed | probability | 1 | 1 | the ranking |" in log
    assert "-> another" in log


@pytest.mark.usefixtures("unreported")
def test_a_version_before_whose_rows_were_taken_away_is_said_not_to_be_compared(
    invented: Made, tmp_path: Path
) -> None:
    before = write(invented, tmp_path, "first")
    (before / "restricted" / "Lunguage_plus_plus.parquet").unlink()
    assert (
        f"The rows of {before.name} are no longer there"
        in (write(invented, tmp_path) / "CHANGELOG.md").read_text()
    )


@pytest.mark.usefixtures("unreported")
def test_the_number_of_kept_versions_is_a_setting(invented: Made, tmp_path: Path) -> None:
    origin = invented.origin()
    origin = replace(
        origin,
        settings=origin.settings.model_copy(
            update={"release": origin.settings.release.model_copy(update={"keep": 1})}
        ),
    )

    def released(*batches: str) -> Written:
        return write_bundle(invented.release(*batches), tmp_path, origin, {}, invented.examples)

    first = released("first")
    second = released()
    assert second.removed == (first.version,)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [second.version]
    assert first.version in (tmp_path / "CHANGELOG.md").read_text(), (
        "what earlier versions changed is still told"
    )


@pytest.mark.parametrize("stale", [["first"], ["first", "second"]])
def test_fits_of_an_older_ranking_are_refused_also_when_all_are(invented: Made, stale: list[str]) -> None:
    def aged(key: str, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        if key not in stale:
            return tables
        return tables | {"lunguage_plus_plus": tables["lunguage_plus_plus"].assign(ranking_version="0" * 32)}

    (*_, batch), names = invented.batches.values(), ("first", "second")
    batches = {name: aged(name, batch) for name in names}
    with pytest.raises(MethodError, match="ranking"):
        assembled(invented.ranking, batches)
