"""What in a landing folder is a delivery, which files belong to it, and what is none: markers, temporary
names, files that serve all.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from lunguage_assets.corpus.delivery import (
    DECLARATION,
    FINDINGS,
    FINDINGS_PARQUET,
    METADATA,
    REPORTS,
    VOCABULARY,
)
from lunguage_assets.landing.place import LandingPlace, LandingUnreachable, Seen

QUARANTINE = "quarantine"
REJECTED_SUFFIX = ".rejected.csv"
MARKER = ".done"
FORMS = (".csv", ".csv.gz", ".parquet")
_MARKERS_INSIDE = (MARKER, "_SUCCESS")
_UNFINISHED = (
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".filepart",
    ".crdownload",
    ".download",
    ".upload",
    ".uploading",
    ".incomplete",
    ".swp",
)
_FINDINGS = (FINDINGS, FINDINGS_PARQUET)
_CANONICAL = {name.lower(): name for name in (*_FINDINGS, VOCABULARY, METADATA, REPORTS, DECLARATION)}


@dataclass(frozen=True)
class Entry:
    """A delivery as it lies there: one file, or a folder of files.

    `signature` changes with every change of its files; `hindrance` says why it cannot be taken however long
    it lies unchanged.
    """

    name: str
    path: str
    is_folder: bool
    files: tuple[Seen, ...]
    marker: Seen | None
    signature: str
    hindrance: str = ""

    @property
    def modified(self) -> float:
        """When the youngest of its files was written."""
        return max((file.modified for file in self.files), default=0.0)

    @property
    def is_marked(self) -> bool:
        """A marker says that it is complete; one older than a file is left from an earlier delivery of the
        same name.
        """
        return self.marker is not None and self.marker.modified >= self.modified

    @property
    def has_vocabulary(self) -> bool:
        return self.is_folder and any(canonical_name(file.name) == VOCABULARY for file in self.files)

    @property
    def key_name(self) -> str:
        """The name without what says of which form the file is."""
        folded = self.name.lower()
        return (
            self.name
            if self.is_folder
            else self.name[: -max(len(form) for form in FORMS if folded.endswith(form))]
        )


@dataclass(frozen=True)
class Listing:
    """What lies in the landing folder: deliveries, the two files that serve all of them, and names that are
    no delivery, with the reason.
    """

    entries: tuple[Entry, ...]
    vocabulary: Entry | None
    declaration: Seen | None
    others: dict[str, str]


def list_entries(place: LandingPlace) -> Listing:
    """Look at the whole landing folder.

    Raises:
        LandingUnreachable: it cannot be read.
    """
    present = place.look()
    by_name = {seen.name: seen for seen in present}
    entries: list[Entry] = []
    others: dict[str, str] = {}
    vocabulary: Entry | None = None
    for seen in present:
        if seen.name in (QUARANTINE, DECLARATION) or _is_passed_over(seen.name):
            continue
        marker = by_name.get(seen.name + MARKER)
        if seen.is_folder:
            entries.append(_folder(place, seen, marker))
        elif (canonical := canonical_name(seen.name)) == VOCABULARY:
            vocabulary = _single(seen, marker)
        elif canonical in (METADATA, REPORTS):
            others[seen.name] = (
                f"belongs to a findings file: put both into one folder, the findings as {FINDINGS}"
            )
        elif seen.name.lower().endswith(FORMS):
            entries.append(_single(seen, marker))
        else:
            others[seen.name] = f"not a delivery: expected {', '.join(FORMS)} or a folder"
    return Listing(tuple(entries), vocabulary, by_name.get(DECLARATION), others)


def seen_again(place: LandingPlace, entry: Entry) -> str:
    """The signature of a delivery now; empty when it is gone."""
    try:
        seen = place.look_at(entry.path)
        if seen is None:
            return ""
        return _folder(place, seen, None).signature if seen.is_folder else _single(seen, None).signature
    except LandingUnreachable:
        return ""


def canonical_name(name: str) -> str | None:
    """The published name that a file of a folder stands for, whatever its letter case and with or without
    `.gz`; None for other files.
    """
    return _CANONICAL.get(name.lower().removesuffix(".gz"))


def _is_passed_over(name: str) -> bool:
    folded = name.lower()
    if folded.startswith((".", "~", "_")) or folded.endswith(("~", MARKER, REJECTED_SUFFIX, *_UNFINISHED)):
        return True
    form = next((form for form in sorted(FORMS, key=len, reverse=True) if folded.endswith(form)), "")
    return bool(form) and folded.removesuffix(form).endswith(_UNFINISHED)


def _single(seen: Seen, marker: Seen | None) -> Entry:
    return Entry(seen.name, seen.path, False, (seen,), marker, _signature([seen]))


def _folder(place: LandingPlace, seen: Seen, marker_beside: Seen | None) -> Entry:
    try:
        inside = [file for file in place.look(seen.path) if not file.is_folder]
    except LandingUnreachable:
        return Entry(seen.name, seen.path, True, (), None, "", "it cannot be read")
    marker = next((file for file in inside if file.name in _MARKERS_INSIDE), marker_beside)
    content = [file for file in inside if file.name not in _MARKERS_INSIDE]
    files = tuple(file for file in content if canonical_name(file.name) is not None)
    hindrance = ""
    if marker is None and not any(canonical_name(file.name) in _FINDINGS for file in files):
        hindrance = f"there is no {FINDINGS} in it"
    elif marker is None and any(file.name.lower().endswith(_UNFINISHED) for file in content):
        hindrance = "a file in it has a temporary name"
    return Entry(seen.name, seen.path, True, files, marker, _signature(content), hindrance)


def _signature(files: list[Seen]) -> str:
    """Over all files, hidden ones too: while one of them grows, something is still being written."""
    return hashlib.sha256("\n".join(f"{file.name}\0{file.stamp}" for file in files).encode()).hexdigest()
