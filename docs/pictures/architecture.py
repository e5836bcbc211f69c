"""Draws the ladder of rooms from the imports that there are.

`python docs/pictures/architecture.py` writes `docs/architecture.svg`. The rungs are the
layers of the import-linter contract in `pyproject.toml`, the arrows the imports of the
package, and a room's subject is the first sentence of its docstring. So a test can hold
the stored picture against the program.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "lunguage_assets"
PICTURE = ROOT / "docs" / "architecture.svg"

WIDTH = 1280
MARGIN = 20
TOP = 64
ROOM_HEIGHT = 38
RUNG_GAP = 8
RUNG_WIDTH = 770
SUBJECT_LEFT = 166
SUBJECT_LETTERS = 93
SUBJECT_LINES = 2
LANE_LEFT = MARGIN + RUNG_WIDTH + 16
OUT_Y = 13
IN_Y = 26
"""From the top of a room: where its own line leaves, and where arrows come in."""

LANE_COLOURS = ("#1d4ed8", "#b4451f", "#0f766e", "#7c3aed", "#8a6100", "#be185d")
STYLE = (
    'text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#111827}'
    ".room{font-weight:600}.subject{font-size:12.5px;fill:#4b5563}"
    ".lane{fill:none;stroke-width:1.6}.arrow{stroke:#6b7280;stroke-width:1.2}"
)
ARROWHEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#374151"/>'
    "</marker></defs>"
)


class Room(NamedTuple):
    """A folder or module right below the package, where it stands in the picture."""

    name: str
    subject: str
    top: int
    x: int
    """Of its line."""


def rungs() -> list[list[str]]:
    """Return the layers of the contract, the highest first, each with its rooms."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (ladder,) = (contract for contract in contracts if contract["type"] == "layers")
    return [layer.split(" | ") for layer in ladder["layers"]]


def imported_rooms() -> dict[str, set[str]]:
    """Return for every room which other rooms it imports, as import-linter sees it."""
    graph = grimp.build_graph(
        PACKAGE, cache_dir=None, exclude_type_checking_imports=True
    )
    imports: dict[str, set[str]] = {}
    for module in graph.modules - {PACKAGE}:
        room = module.split(".")[1]
        imported = graph.find_modules_directly_imported_by(module) - {PACKAGE}
        rooms = {name.split(".")[1] for name in imported}
        imports.setdefault(room, set()).update(rooms - {room})
    return imports


def subject(room: str) -> str:
    """Return the first sentence of a room's docstring, up to a semicolon.

    The page of the method that it cites in brackets is left out.
    """
    path = ROOT / PACKAGE / room
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    without_citation = re.sub(r" \([^()]*\.md[^()]*\)", "", paragraph)
    return re.split(r"[.;](?:\s|$)", without_citation)[0].replace("`", "")


def lanes(imports: dict[str, set[str]]) -> dict[str, int]:
    """Return where the line of every room stands, over the width that is left.

    The highest rooms have the outermost lines: so no line that leaves a room crosses
    another.
    """
    names = [name for layer in rungs() for name in layer if imports[name]]
    step = (WIDTH - MARGIN - LANE_LEFT) // len(names)
    return {
        name: LANE_LEFT + step * number for number, name in enumerate(reversed(names))
    }


def placed_rooms(imports: dict[str, set[str]]) -> Iterator[list[Room]]:
    """Yield every rung with its rooms below each other."""
    x_of = lanes(imports)
    top = TOP
    for layer in rungs():
        rooms = []
        for name in layer:
            rooms.append(Room(name, subject(name), top, x_of.get(name, LANE_LEFT)))
            top += ROOM_HEIGHT
        yield rooms
        top += RUNG_GAP


def text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def drawn_rung(rooms: list[Room]) -> Iterator[str]:
    """Yield the box of a rung, and in it the names and subjects of its rooms."""
    height = ROOM_HEIGHT * len(rooms)
    yield (
        f'<rect x="{MARGIN}" y="{rooms[0].top}" width="{RUNG_WIDTH}" '
        f'height="{height}" rx="6" fill="#f1f5f9" stroke="#cbd5e1"/>'
    )
    for room in rooms:
        middle = room.top + ROOM_HEIGHT / 2
        yield text(MARGIN + 12, middle + 5, room.name, "room")
        lines = textwrap.wrap(
            room.subject, SUBJECT_LETTERS, max_lines=SUBJECT_LINES, placeholder=" ..."
        )
        first = middle + 4.5 - 7.5 * (len(lines) - 1)
        for number, line in enumerate(lines):
            yield text(SUBJECT_LEFT, first + 15 * number, line, "subject")


def drawn_lane(room: Room, imported: list[Room], colour: str) -> Iterator[str]:
    """Yield the line of a room, from its box down to the last room that it imports."""
    if not imported:
        return
    last = max(other.top for other in imported) + IN_Y
    yield (
        f'<path class="lane" stroke="{colour}" '
        f'd="M{MARGIN + RUNG_WIDTH},{room.top + OUT_Y} H{room.x} V{last}"/>'
    )
    for other in imported:
        yield (
            f'<circle cx="{room.x}" cy="{other.top + IN_Y}" r="4" fill="{colour}">'
            f"<title>{room.name} imports {other.name}</title></circle>"
        )


def drawn_arrow(room: Room, importers: list[Room]) -> Iterator[str]:
    """Yield the arrow into a room, from the outermost lane that imports it."""
    if not importers:
        return
    y = room.top + IN_Y
    start = max(importer.x for importer in importers)
    yield (
        f'<path class="arrow" d="M{start},{y} H{MARGIN + RUNG_WIDTH + 1}" '
        'marker-end="url(#head)"/>'
    )


def picture() -> str:
    """Return the whole picture as SVG."""
    imports = imported_rooms()
    placed = list(placed_rooms(imports))
    rooms = {room.name: room for rung in placed for room in rung}
    body: list[str] = []
    for rung in placed:
        body += drawn_rung(rung)
    for room in rooms.values():
        importers = [rooms[name] for name in rooms if room.name in imports[name]]
        body += drawn_arrow(room, importers)
    for room, colour in zip(rooms.values(), cycle(LANE_COLOURS), strict=False):
        imported = [rooms[name] for name in rooms if name in imports[room.name]]
        body += drawn_lane(room, imported, colour)
    height = placed[-1][-1].top + ROOM_HEIGHT + MARGIN
    label = f"The rooms of {PACKAGE} as a ladder, and which room imports which"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" aria-label="{label}">',
            ARROWHEAD,
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
            text(MARGIN, 28, "A room imports only rooms of lower boxes.", "room"),
            text(
                MARGIN,
                48,
                "Follow a room's line down: each dot on it is an import, "
                "of the room at the end of the arrow.",
                "subject",
            ),
            *body,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
