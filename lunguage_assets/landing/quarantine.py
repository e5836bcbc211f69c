"""Moving a delivery that cannot be used to quarantine, with the reason beside it.

A move is planned as a whole and then made file by file. Done again after an interruption, it ends the same;
a file that a person has replaced meanwhile stays.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from urllib.parse import quote, unquote

from upath import UPath

from lunguage_assets.errors import InputError
from lunguage_assets.landing.entries import QUARANTINE, REJECTED_SUFFIX, Entry
from lunguage_assets.landing.record import Move
from lunguage_assets.landing.seen import files_below, move, put, readable, see

_AFTERWARDS = "Mend the delivery and put it into the landing folder again, under any name."
_PARTS = ("file", "row", "column", "found", "expected", "remedy")


def renamed(error: InputError, file: str) -> InputError:
    """The same error of a file under another name."""
    return InputError(file, error.found, error.expected, error.remedy, row=error.row, column=error.column)


def plan_move(place: UPath, entry: Entry, error: InputError, originals: dict[str, str]) -> Move:
    """All files of a delivery at any depth, its marker, its list of rejected rows, and the reason."""
    published = Path(error.file).name
    named = renamed(error, originals.get(published, published if "." in published else entry.name))
    folder = f"{QUARANTINE}/{entry.name}-{entry.signature[:8]}"
    parts = {part: getattr(named, part) for part in _PARTS}
    told = "\n".join(f"{part + ':':<10} {value}" for part, value in parts.items() if value is not None)
    paths = [
        entry.path,
        place / f"{entry.name}{REJECTED_SUFFIX}",
        *([entry.marker.path] if entry.marker else []),
    ]
    there = [seen for path in paths if (seen := see(path, place))]
    files = [*files_below(there, place), *(seen for seen in there if not seen.is_folder)]
    prefix = f"{entry.path.name}/" if entry.is_folder else ""
    return Move(
        signature=entry.signature,
        files=[
            (
                quote(source, errors="surrogateescape"),
                readable(f"{folder}/{source.removeprefix(prefix)}"),
                seen.stamp,
            )
            for seen in files
            for source in [seen.path.relative_to(place).as_posix()]
        ],
        texts={
            f"{folder}/REASON.txt": f"This delivery was not used.\n\n{told}\n\n{_AFTERWARDS}\n",
            f"{folder}/reason.json": json.dumps(parts, indent=2) + "\n",
        },
        reason=str(named),
        reason_without_names=str(renamed(error, "a delivery")),
    )


def carry_out(place: UPath, planned: Move) -> None:
    """Make a planned move, as far as it is not made; any error of the file system leaves it for later."""
    for path, text in planned.texts.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        put(place / path, text.encode())
    sources = [unquote(source, errors="surrogateescape") for source, _, _ in planned.files]
    for source, (_, goal, stamp) in zip(sources, planned.files, strict=True):
        seen = see(place / source, place)
        if seen is not None and seen.stamp == stamp:
            (place / goal).parent.mkdir(parents=True, exist_ok=True)
            move(seen, place / goal)
    for source in sources:
        for folder in (place / source).parents:
            if folder == place:
                break
            with contextlib.suppress(Exception):  # not empty, gone, or a place without folders
                place.fs.rmdir(folder.path)
