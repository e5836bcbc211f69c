"""Put the sentences of reports into new company: any number of invented reports, harder
than those they come from.

Sentences that never met before contradict, repeat and qualify each other: what a corpus
of ten times the size would bring sooner or later.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lunguage_assets.structuring.text.report import cut_report

HEADINGS = {"hist": "HISTORY", "find": "FINDINGS", "impr": "IMPRESSION"}

Pools = Mapping[str, Sequence[Sequence[str]]]
"""Section code -> the sentences of that section of every report that has it."""


def pools_of(texts: Iterable[str]) -> Pools:
    """The sentences of raw reports by section; reports without a section are left out
    of its pool.
    """
    pools: dict[str, list[list[str]]] = {code: [] for code in HEADINGS}
    for text in texts:
        sections: dict[str, list[str]] = {}
        for sentence in cut_report("", text).sentences:
            sections.setdefault(sentence.section, []).append(
                " ".join(sentence.text.split())
            )
        for code in HEADINGS:
            if code in sections:
                pools[code].append(sections[code])
    return pools


def recombined(pools: Pools, reports: int, seed: int = 0) -> Iterator[str]:
    """Yield `reports` raw reports whose sections have the lengths of real ones and
    sentences of any.

    Sentences are drawn from all that the pool of the section has, each as often as it
    stands there. The same arguments give the same reports.
    """
    draw = random.Random(seed)
    sentences = {
        code: [sentence for report_sentences in pool for sentence in report_sentences]
        for code, pool in pools.items()
    }
    for _ in range(reports):
        sections = []
        for code, heading in HEADINGS.items():
            if not pools.get(code):
                continue
            length = len(draw.choice(pools[code]))
            sections.append(
                f"{heading}: "
                + " ".join(draw.choice(sentences[code]) for _ in range(length))
            )
        yield "\n\n".join(sections)
