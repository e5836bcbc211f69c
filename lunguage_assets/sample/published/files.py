"""Writes a synthetic sample in the published file formats, with their untidiness (implicit.md section 1).

Like the published files, the findings vary a little in case, write some statuses as `x|y`, mix empty cells
with `nan`, and name some references without a number.
"""

from __future__ import annotations

import csv
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample.knowledge import Knowledge, knowledge
from lunguage_assets.sample.planning import plans
from lunguage_assets.sample.prose.composition import compose
from lunguage_assets.sample.published.images import METADATA_COLUMNS, image_rows
from lunguage_assets.sample.published.vocabulary_rows import VOCABULARY_COLUMNS, vocabulary_rows
from lunguage_assets.sample.raw.styles import varied_knowledge
from lunguage_assets.sample.raw.varied import compose_varied
from lunguage_assets.sample.records import Fact, Study, stream
from lunguage_assets.tables import ATTRIBUTES

FINDINGS_FILE, VOCABULARY_FILE, METADATA_FILE, ABOUT_FILE = (
    "Lunguage.csv",
    "Lunguage_vocab.csv",
    "mimic-cxr-2.0.0-metadata.csv",
    "corpus.toml",
)

FILES = (FINDINGS_FILE, VOCABULARY_FILE, METADATA_FILE, ABOUT_FILE)

Prose = Literal["plain", "varied"]

LUNGUAGE_COLUMNS = (
    "", "subject_id", "study_id", "sequence", "section", "report", "sent_idx", "sent", "ent_idx", "ent",
    "normed_ent", "cat", "dx_status", "dx_certainty", "location", "evidence", "associate",
    *ATTRIBUTES.values(),
)  # fmt: skip
"""Columns of Lunguage.csv in order; the first has no name."""

_ATTRIBUTE_PLACE = {name: place for place, name in enumerate(ATTRIBUTES.values())}

ABOUT = (
    "# Invented reports: no patient, no radiologist, no text of any real corpus.\nname = "
    '"synthetic"\ndata_class = "synthetic"\n'
)


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """Counts of a written sample.

    `findings` counts rows of findings and impression, `tentative` those of them in doubt.
    """

    reports: int
    patients: int
    findings: int
    tentative: int
    history: int
    images: int
    phrases: int


def synthetic_studies(reports: int, seed: int, prose: Prose = "plain") -> Iterator[Study]:
    """The first `reports` studies of the endless corpus that the seed names.

    Varied prose says much the same in more ways, and its rows quote its sentences.
    """
    known = _knowledge_of(prose)
    for plan in plans(reports, seed, known):
        yield compose(plan, seed, known) if prose == "plain" else compose_varied(plan, seed)


def _knowledge_of(prose: Prose) -> Knowledge:
    return knowledge() if prose == "plain" else varied_knowledge()


def write_sample(out: Path, reports: int = 800, seed: int = 0, prose: Prose = "plain") -> SampleSummary:
    """Write a synthetic corpus into the folder `out`.

    Files: Lunguage.csv, Lunguage_vocab.csv, the image metadata and corpus.toml. Byte-identical for (reports,
    seed, prose). A smaller sample of the same seed is the beginning of a larger one. Every file is written
    beside its place and renamed, so that a reader sees whole files only. Raises `ConfigurationError` for less
    than one report, and when the folder holds files of a corpus that is not declared synthetic.
    """
    if reports < 1:
        raise ConfigurationError(
            f"A sample of {reports} reports was asked for; a sample has at least one. Ask for 1 or more."
        )
    refuse_to_replace(out)
    known = _knowledge_of(prose)
    counts: Counter[str] = Counter()
    phrases, patients, written = set[str](), set[int](), 0
    with made_beside(out) as folder, ExitStack() as files:

        def table(name: str, columns: Sequence[str]) -> Callable[[Iterable[Sequence[object]]], None]:
            handle = files.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(columns)
            return writer.writerows

        write_findings = table(FINDINGS_FILE, LUNGUAGE_COLUMNS)
        write_images = table(METADATA_FILE, METADATA_COLUMNS)
        table(VOCABULARY_FILE, VOCABULARY_COLUMNS)(vocabulary_rows(known))
        for study in synthetic_studies(reports, seed, prose):
            rows = finding_rows(
                study, written, stream(seed, "cells", study.number) if prose == "plain" else None
            )
            images = image_rows(study, seed, known)
            write_findings(rows)
            write_images(images)
            written += len(rows)
            patients.add(study.subject)
            counts["images"] += len(images)
            for fact in study.facts:
                past = fact.section == "hist"
                counts["history" if past else "findings"] += 1
                counts["tentative"] += fact.status.startswith("t") and not past
                phrases.update(fact.hedges)
        (folder / ABOUT_FILE).write_text(ABOUT, encoding="utf-8")
    return SampleSummary(
        reports, len(patients), counts["findings"], counts["tentative"], counts["history"], counts["images"],
        len(phrases),
    )  # fmt: skip


@contextmanager
def made_beside(out: Path) -> Iterator[Path]:
    """A folder whose content takes its place in `out` once all is written, and replaces what is there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        yield Path(folder)
        for path in sorted(Path(folder).iterdir()):
            target = out / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)


def refuse_to_replace(out: Path, names: Sequence[str] = FILES) -> None:
    """Refuse a folder with a delivery that is not declared synthetic."""
    about = out / ABOUT_FILE
    declared = about.exists() and 'data_class = "synthetic"' in about.read_text(encoding="utf-8").splitlines()
    if not declared and any((out / name).exists() for name in names):
        raise ConfigurationError(
            f"{out} holds a delivery that is not declared synthetic; "
            "a sample would replace it. Name another folder."
        )


def finding_rows(study: Study, first: int, rng: random.Random | None) -> list[list[object]]:
    """The study's rows of Lunguage.csv, numbered from `first`; as untidy as the published ones with `rng`."""
    rows: list[list[object]] = []
    numbers = {(fact.section, fact.number, fact.words) for fact in study.facts}
    subject, name_of_study = f"p{study.subject}", f"s{study.study}"
    for section, sentences in study.sections.items():
        for position, sentence in enumerate(sentences, start=1):
            for fact in sentence.facts:
                polarity = "positive" if fact.status[1] == "p" else "negative"
                certainty = "definitive" if fact.status[0] == "d" else "tentative"
                attributes = [""] * len(_ATTRIBUTE_PLACE)
                for name, value in fact.attributes.items():
                    attributes[_ATTRIBUTE_PLACE[name]] = value
                row: list[object] = [
                    first + len(rows), subject, name_of_study, study.sequence, section, study.report,
                    position, sentence.text, fact.number, _cased(fact.words, rng), fact.term.canonical,
                    _cased(fact.term.cat, rng, 0.01), _status(polarity, "positive|negative", rng),
                    _status(certainty, "definitive|tentative", rng), fact.location,
                    _references(fact, fact.evidence, numbers, rng),
                    _references(fact, fact.associate, numbers, rng), *attributes,
                ]  # fmt: skip
                _mark_absent(row, rng)
                rows.append(row)
    return rows


def _mark_absent(row: list[object], rng: random.Random | None) -> None:
    """Now and then write `nan` into an empty cell among location, references and attributes."""
    if rng is not None and rng.random() < 0.3:
        column = rng.randrange(LUNGUAGE_COLUMNS.index("location"), len(row))
        row[column] = row[column] or "nan"


def _cased(text: str, rng: random.Random | None, share: float = 0.03) -> str:
    """The text, now and then with a capital."""
    if rng is None or rng.random() >= share:
        return text
    return text.capitalize() if not text.isupper() else text.lower()


def _status(value: str, both: str, rng: random.Random | None) -> str:
    if rng is None:
        return value
    draw = rng.random()
    if draw < 0.004:
        other = next(part for part in both.split("|") if part != value)
        return f"{value}|{other}"
    if draw < 0.024:
        return value.capitalize()
    return value.upper() if draw < 0.03 else value


def _references(
    fact: Fact, targets: list[Fact], numbers: set[tuple[str, int, str]], rng: random.Random | None
) -> str:
    """The flat list `name, idxN, name, idxN`, with a few bare names at the end.

    A name stands bare too when its number means another row here.
    """
    numbered: list[str] = []
    bare: list[str] = []
    for target in targets:
        ambiguous = target.section != fact.section and (fact.section, target.number, target.words) in numbers
        if ambiguous or (rng is not None and rng.random() < 0.02):
            bare.append(target.words)
        else:
            numbered += (target.words, f"idx{target.number}")
    return ", ".join(numbered + bare)
