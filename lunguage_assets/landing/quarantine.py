"""Putting aside a delivery that cannot be used, with the reason beside it, for a person to mend and deliver
again.

The move is planned in the record before the first file is touched: killed at any point, the next pass
finishes it. A file that a person has replaced meanwhile stays where it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lunguage_assets.errors import InputError
from lunguage_assets.landing.entries import QUARANTINE, Entry
from lunguage_assets.landing.place import LandingPlace


@dataclass(frozen=True)
class Reason:
    """Why a delivery cannot be used: the parts of an `InputError`, under the names that the person gave the
    files.
    """

    delivery: str
    sha256: str
    file: str
    row: int | None
    column: str | None
    found: str
    expected: str
    remedy: str

    @classmethod
    def of(cls, error: InputError, delivery: str, sha256: str, originals: Mapping[str, str]) -> Reason:
        file = Path(error.file).name
        named = originals.get(file, file if "." in file else delivery)
        return cls(
            delivery, sha256, named, error.row, error.column, error.found, error.expected, error.remedy
        )

    @property
    def folder(self) -> str:
        """The folder under `quarantine/`: the delivery's name and the beginning of its content hash."""
        return f"{self.delivery}-{self.sha256[:8]}"

    @property
    def without_names(self) -> str:
        """One line for logs: names of files may name patients."""
        place = ", ".join(
            [f"row {self.row}"] * (self.row is not None)
            + [f"column {self.column!r}"] * (self.column is not None)
            or ["the whole delivery"]
        )
        return f"{self.sha256[:8]}: {place}: found {self.found}; expected {self.expected}. {self.remedy}"

    @property
    def text(self) -> str:
        """What `REASON.txt` says."""
        parts = {
            "File": self.file,
            "Row": self.row,
            "Column": self.column,
            "Found": self.found,
            "Expected": self.expected,
        }
        lines = [f"{label + ':':<10} {value}" for label, value in parts.items() if value is not None]
        ending = (
            "Mend the delivery and put it into the landing folder again, under any name. This folder "
            "may be removed.\n"
        )
        return "\n".join(["This delivery was not used.", "", *lines, "", self.remedy, ending])


def plan(place: LandingPlace, entry: Entry, reason: Reason, rejected: str) -> dict[str, Any]:
    """Where every file of a delivery goes, markers included, and what is laid beside; a plan can be kept as
    JSON.
    """
    target = place.at(QUARANTINE, reason.folder)
    files = place.files_below(entry.path) if entry.is_folder else list(entry.files)
    if entry.marker is not None and entry.marker.path not in {file.path for file in files}:
        files.append(entry.marker)
    start = len(entry.path if entry.is_folder else place.root.rstrip("/")) + 1
    return {
        "moves": [
            [
                file.path,
                f"{target}/{file.path[start:] if file is not entry.marker else file.name}",
                file.stamp,
            ]
            for file in files
        ],
        "empty": entry.path if entry.is_folder else "",
        "target": target,
        "signature": entry.signature,
        "reason": asdict(reason),
        "rejected": rejected,
    }


def carry_out(place: LandingPlace, planned: Mapping[str, Any]) -> None:
    """Do what a plan says, as far as it is not done; an error leaves the plan to be carried out again."""
    reason = Reason(**planned["reason"])
    target = planned["target"]
    place.write(
        f"{target}/reason.json", (json.dumps(planned["reason"], indent=2, sort_keys=True) + "\n").encode()
    )
    place.write(f"{target}/REASON.txt", reason.text.encode())
    if planned["rejected"]:
        place.write(f"{target}/rejected.csv", planned["rejected"].encode())
    for source, goal, stamp in planned["moves"]:
        seen = place.look_at(source)
        if seen is not None and seen.stamp == stamp:
            place.move(source, goal)
    if planned["empty"]:
        place.remove_empty_folders(planned["empty"])
