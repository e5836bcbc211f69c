"""Pictures of the expert pathways: a graph per diagnosis, and the page that shows all of them.

`python -m lunguage_assets.pictures.pathway_pictures` writes docs/pathways.md and its pictures again. What a
graph holds is `implicit/pathways/pathway_tree.py`. Colours are told apart by colour-blind readers (Okabe and
Ito) and never carry a distinction alone: what is absent says so.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.pathways.pathway_tree import SOMETIMES, Branch, Kind, pathway_tree
from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics, PathwayDictionary, load_dictionary
from lunguage_assets.pictures.canvas import png
from lunguage_assets.tables import TERMS

_WIDTH, _GAP, _BETWEEN, _MARGIN = 2.15, 0.45, 0.1, 0.12  # inches
_LINE, _PADDING = 0.145, 0.11
_CHARACTERS = 28
_COLOURS: dict[Kind, tuple[str, str]] = {  # of the box, of its border
    "diagnosis": ("#FFF1D0", "#E69F00"),
    "situation": ("#F2F2F2", "#6F6F6F"),
    "present": ("#DCEBF5", "#0072B2"),
    "absent": ("#F9E0D4", "#D55E00"),
}


@dataclass(frozen=True, slots=True)
class Box:
    """A branch with its place in inches from the top left corner: left edge, middle, height."""

    kind: Kind
    title: tuple[str, ...]
    lines: tuple[str, ...]
    left: float
    middle: float
    height: float
    children: tuple[Box, ...]

    def all(self) -> Iterator[Box]:
        """The box and everything right of it."""
        yield self
        for child in self.children:
            yield from child.all()


def pathway_picture(dictionary: PathwayDictionary, diagnosis: str) -> bytes:
    """PNG of a diagnosis: its situations, their sub-findings with place and attributes, and the diagnoses
    among them to the leaves.

    Raises `ConfigurationError` for a diagnosis that the dictionary does not have.
    """
    from matplotlib.figure import Figure

    boxes, _ = laid_out(pathway_tree(dictionary, diagnosis))
    width = max(box.left for box in boxes.all()) + _WIDTH + _MARGIN
    height = max(box.middle + box.height / 2 for box in boxes.all()) + _MARGIN
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, width), ylim=(height, 0.0))
    axes.axis("off")
    for box in boxes.all():
        _draw(axes, box)
    return png(figure)


def laid_out(branch: Branch, depth: int = 0, top: float = _MARGIN) -> tuple[Box, float]:
    """A box per branch below `top`, children in the next column, a parent in their middle, none over another;
    and where it ends.
    """
    absent = "absent: " if branch.kind == "absent" else ""
    title = tuple(wrap(absent + branch.title, _CHARACTERS))
    lines = tuple(piece for line in branch.lines for piece in wrap(line, _CHARACTERS))
    height = _LINE * (len(title) + len(lines)) + _PADDING
    children: list[Box] = []
    end = top
    for below in branch.children:
        child, end = laid_out(below, depth + 1, end)
        children.append(child)
    middle = top + height / 2
    if children:
        middle = max(middle, (children[0].middle + children[-1].middle) / 2)
    box = Box(branch.kind, title, lines, _MARGIN + depth * (_WIDTH + _GAP), middle, height, tuple(children))
    return box, max(end, middle + height / 2 + _BETWEEN)


def _draw(axes: Any, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    fill, border = _COLOURS[box.kind]
    upper = box.middle - box.height / 2
    style: dict[str, Any] = {"facecolor": fill, "edgecolor": border, "lw": 1.2, "zorder": 2}
    style["boxstyle"] = "round,pad=0,rounding_size=0.05"
    axes.add_patch(FancyBboxPatch((box.left, upper), _WIDTH, box.height, **style))
    for number, text in enumerate((*box.title, *box.lines)):
        named = number < len(box.title)
        axes.text(
            box.left + 0.08,
            upper + _PADDING / 2 + (number + 0.5) * _LINE,
            text.replace("$", r"\$"),
            fontsize=8 if named else 7,
            weight="bold" if named else "normal",
            color="black" if named else "#333333",
            va="center_baseline",
            zorder=3,
        )
    right = box.left + _WIDTH
    for child in box.children:
        turn = right + _GAP / 2
        across, down = [right, turn, turn, child.left], [box.middle, box.middle, child.middle, child.middle]
        axes.plot(across, down, color="#6F6F6F", lw=1, zorder=1)


def page(dictionary: PathwayDictionary, folder: str) -> str:
    """The Markdown page of all diagnoses; the pictures lie in `folder`, named by `file_name`."""
    head = """# What a stated diagnosis implies

Fourteen diagnoses with their expert pathways, from `resources/pathways.yaml`. To add one, add an entry to
that file, whose header explains the form; no code changes, and every mistake is reported with its line and
field. `python -m lunguage_assets.pictures.pathway_pictures` renders this page again.

How to read a picture, from the left: the diagnosis; the situations in which a pathway applies (words of the
finding, views of the study) with the pathway's id; what it implies there, with place and attributes. A
sub-finding that is itself a diagnosis (same colour as the first box) is followed to its leaves. What it does
not show in every situation is marked *SOMETIMES*; its own picture says when. *Absent* findings are implied to
be missing. A generated row takes over certainty, place and attributes of its parent; absent findings take the
place only. Symptoms are never generated from a film: they are linked where the report states them. What keeps
a sub-finding from being implied in a report (`unless`), and what lies somewhere else than its diagnosis
(`inherits: false`), is in the file; mode `paper` heeds neither, and generates symptoms too.

An edge means that experts put the probability of the sub-finding, given the diagnosis, above 0.8. It is not
the other direction, and no image was looked at.

| diagnosis | variants | pathways | depth | width |
|---|---|---|---|---|
""".replace("SOMETIMES", SOMETIMES)
    statistics = dictionary.statistics()
    rows = "".join(
        f"| [{s.diagnosis}](#{s.diagnosis.replace(' ', '-')}) | {s.variants} | {s.pathways} | {s.depth} | "
        f"{s.width} |\n"
        for s in statistics
    )
    foot = (
        "\nVariants are spellings; depth is the longest chain of diagnoses; width the number of "
        "distinct leaves. A union of postures is not counted as a pathway.\n"
        "\n## What the reports say of them\n\n"
        "`lunguage analyse` counts, for every edge, what the reports themselves state (`pathway_audit`), and "
        "what\nimplied labels would be with the shares as strengths (`audited_labels`): [how to read "
        "them](calibration.md#the-pathways).\nTo adopt a share, copy `resources/pathways.yaml` to "
        "`pathways.yaml` in the home and write it to the sub-finding:\n"
        "`{finding: consolidation, status: dp, strength: 0.62}`. It is p(sub-finding | diagnosis), above 0 "
        "and at most 1.\n`lunguage run` then expands again, and asks no judge.\n"
    )
    return head + rows + foot + "".join(_section(dictionary, s, folder) for s in statistics)


def _section(dictionary: PathwayDictionary, statistics: DiagnosisStatistics, folder: str) -> str:
    name = statistics.diagnosis
    spellings = ", ".join(dictionary.diagnoses[name].variants)
    tree = "\n".join(pathway_tree(dictionary, name).written())
    return (
        f"\n## {name}\n\nSaid as: {spellings}.\n\n![{name}: situations and what each implies; the "
        f"same as text below]({folder}/{file_name(name)})\n\n"
        f"<details><summary>As text</summary>\n\n```\n{tree}\n```\n\n</details>\n"
    )


def file_name(diagnosis: str) -> str:
    """Of the picture of a diagnosis."""
    return re.sub(r"[^a-z0-9]+", "_", diagnosis.lower()) + ".png"


def main() -> None:
    """Write the page and its pictures: `python -m lunguage_assets.pictures.pathway_pictures [docs
    folder]`.
    """
    docs = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    dictionary = load_dictionary(None, Vocabulary.from_terms(TERMS.frame()))
    (docs / "pathways").mkdir(parents=True, exist_ok=True)
    (docs / "pathways.md").write_text(page(dictionary, "pathways"), encoding="utf-8")
    for diagnosis in dictionary.diagnoses:
        (docs / "pathways" / file_name(diagnosis)).write_bytes(pathway_picture(dictionary, diagnosis))


if __name__ == "__main__":
    main()
