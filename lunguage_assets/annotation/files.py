"""Reports from files and from standard input, for `lunguage read`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from lunguage_assets.annotation.given import Given, InputPlace, given_report, given_views
from lunguage_assets.corpus.texts.raw import LARGEST

STDIN = "-"
_A_REPORT = "the text of one report"


def given_files(paths: Sequence[str], views: str = "") -> list[Given]:
    """The reports of files, each once, in the given order; `-` is standard input.

    Raises:
        InputError: no such file, a folder, nothing in it, no text, more than a report can be; or `views` name
            no view.
    """
    said = given_views(views, InputPlace("--views"))
    return [_report(path, said) for path in dict.fromkeys(paths)]


def _report(path: str, views: str) -> Given:
    place = InputPlace("standard input" if path == STDIN else path)
    given = given_report(path, _content(path, place), views, place)
    if not given.text:
        raise place.error("nothing", _A_REPORT, "Give a file with a report in it, or - for standard input.")
    return given


def _content(path: str, place: InputPlace) -> bytes:
    """The bytes, and one more than there may be of a file that is too long."""
    if path == STDIN:
        return sys.stdin.buffer.read(LARGEST + 1)
    file = Path(path)
    if file.is_dir():
        raise place.error(
            "a folder", _A_REPORT, "Name its files; `lunguage run --data` takes a whole folder."
        )
    try:
        with file.open("rb") as stream:
            return stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise place.error("no such file", _A_REPORT, "Correct the path.") from None
