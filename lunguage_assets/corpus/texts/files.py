"""Reports as text files: MIMIC-CXR's own tree (`files/p10/p10000032/s50414267.txt`) or any other.

The study is the file's name; the patient is the folder's where that is MIMIC-CXR's form of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lunguage_assets.corpus.texts.members import TEXT_FORM, UNREADABLE, contents, names_in
from lunguage_assets.corpus.texts.raw import RawReport
from lunguage_assets.corpus.texts.tables import stored

_PATIENT = re.compile(r"p\d{8,18}", re.IGNORECASE | re.ASCII)


def read_text_files(place: Path) -> Iterator[RawReport]:
    """Every text file of a folder or a `.zip`, or the one that the place is.

    Raises:
        InputError: the package is damaged.
    """
    alone = place.is_file() and TEXT_FORM.search(place.name) is not None
    names = [place.name] if alone else names_in(place, TEXT_FORM)
    place = place.parent if alone else place
    for name, content in contents(place, names):
        inside = PurePosixPath(stored(name))
        folder = inside.parent.name or place.name
        yield RawReport(
            str(inside),
            1,
            TEXT_FORM.sub("", inside.name),
            folder if _PATIENT.fullmatch(folder) else "",
            content=content or b"",
            broken=UNREADABLE if content is None else "",
        )
