"""The text of a raw report: headings, margins, broken lines, numbered impressions, names of organs."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass

from lunguage_assets.sample.planning import StudyPlan
from lunguage_assets.sample.raw.styles import Layout, layout_data
from lunguage_assets.sample.records import PrintedSentence


@dataclass(slots=True)
class Page:
    """A report's text and the sections that stand in it, sentences as printed but for broken lines."""

    text: str
    sections: dict[str, list[PrintedSentence]]


def laid_out(
    plan: StudyPlan, layout: Layout, sections: dict[str, list[PrintedSentence]], rng: random.Random
) -> Page:
    """The report's text in a layout; plain text keeps its findings only."""
    if layout.capitals:
        for sentence in (sentence for sentences in sections.values() for sentence in sentences):
            sentence.text = sentence.text.upper()
    if not layout.headings:
        sections = {"hist": [], "find": sections["find"], "impr": []}
        return Page(_wrapped(_running(sections["find"]), layout) + "\n", sections)
    blocks = [" " * 33 + "FINAL REPORT"] if layout.final else []
    blocks += [_block(name, text, layout, rng) for name, text in _preface(plan, sections, rng)]
    if sections["find"]:
        blocks.append(_findings(sections["find"], layout, rng))
    if sections["impr"]:
        blocks.append(_block("impr", _points(sections["impr"], rng), layout, rng))
    blocks = _surrounded(blocks, sections, layout, rng)
    blank = " " * layout.margin
    return Page(f"\n{blank}\n".join(blocks) + "\n", sections)


def _surrounded(
    blocks: list[str], sections: dict[str, list[PrintedSentence]], layout: Layout, rng: random.Random
) -> list[str]:
    """The report; now and then a wet read stands before it, a notification or an addendum behind it."""
    data = layout_data()
    shares = data["shares"]
    if rng.random() < shares["notification"]:
        blocks = [*blocks, _block("notification", rng.choice(data["notifications"]), layout, rng)]
    if rng.random() < shares["addendum"]:
        blocks = [*blocks, _block("addendum", rng.choice(data["addenda"]), layout, rng)]
    if sections["impr"] and rng.random() < shares["wet_read"]:
        first = rng.choice(data["wet_reads"]).format(impr=sections["impr"][0].text)
        blocks = [_block("wet_read", first, layout, rng), *blocks]
    return blocks


def _preface(
    plan: StudyPlan, sections: dict[str, list[PrintedSentence]], rng: random.Random
) -> list[tuple[str, str]]:
    """Examination, history, technique and comparison: some of them, as heading and text."""
    data, title = layout_data(), plan.situation.title
    compared = data["comparison_later" if plan.later else "comparison"]
    parts = [("hist", _running(sections["hist"]))]
    if rng.random() < 0.6:
        parts.insert(0, ("examination", rng.choice(fitting(data["examinations"], title))))
    if rng.random() < 0.4:
        parts.append(("technique", rng.choice(fitting(data["techniques"], title))))
    if rng.random() < 0.85:
        parts.append(("comparison", rng.choice(compared)))
    return parts


def fitting(entries: list[tuple[str, list[str]]], title: str) -> list[str]:
    """The texts that fit the title of the study: those of the first entry whose words are in it."""
    return next(texts for words, texts in entries if words in title)


def _findings(sentences: list[PrintedSentence], layout: Layout, rng: random.Random) -> str:
    if layout.organs:
        return _block("find", "\n".join(_by_organ(sentences)), layout, rng)
    if not layout.label:
        return _wrapped(_running(sentences), layout)
    paragraphs = [sentences]
    if len(sentences) > 4 and rng.random() < 0.3:
        middle = len(sentences) // 2
        paragraphs = [sentences[:middle], sentences[middle:]]
    return _block("find", "\n\n".join(_running(paragraph) for paragraph in paragraphs), layout, rng)


def _by_organ(sentences: list[PrintedSentence]) -> list[str]:
    lines, rest = [], list(sentences)
    for label, highest in layout_data()["organs"]:
        under = [sentence for sentence in rest if sentence.order <= highest]
        rest = [sentence for sentence in rest if sentence.order > highest]
        if under:
            lines.append(f"{label}: {_running(under)}")
    return lines


def _points(sentences: list[PrintedSentence], rng: random.Random) -> str:
    mark = rng.choice(layout_data()["numbers"])
    if len(sentences) == 1 or not mark:
        return _running(sentences)
    return "\n".join(
        f"{mark.format(n=number)}{sentence.text}" for number, sentence in enumerate(sentences, start=1)
    )


def _block(name: str, text: str, layout: Layout, rng: random.Random) -> str:
    heading = rng.choice(layout_data()["headings"][name])
    if layout.case == "title":
        heading = heading.capitalize()
    long = layout.own_line and name in ("find", "impr")
    between = "\n" if "\n" in text and not long else " " if not layout.final else "  "
    return _wrapped(f"{heading}:{chr(10) if long else between}{text}", layout)


def _running(sentences: list[PrintedSentence]) -> str:
    return " ".join(sentence.text for sentence in sentences)


def _wrapped(text: str, layout: Layout) -> str:
    """The text within the layout's columns; a line that is broken goes on at the margin."""
    margin = " " * layout.margin
    lines = []
    for line in text.split("\n"):
        if not layout.width or not line:
            lines.append(margin + line)
        else:
            lines += textwrap.wrap(
                line, layout.width, initial_indent=margin, subsequent_indent=margin,
                break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
            )  # fmt: skip
    return "\n".join(lines)
