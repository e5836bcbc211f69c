"""The parts of a synthetic study: findings, sentences, sections. No prose and no files here.

A `Fact` is one row to be; a `PrintedSentence` is printed text with its facts in order of appearance.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field

from lunguage_assets.sample.knowledge import FindingTerm, Situation


@dataclass(slots=True, eq=False)
class Fact:
    """One finding of one sentence.

    `hedges` are the phrases about it, in order of writing. `inherited` is the place of the finding beside it
    in the sentence, when its own place is not printed and both can stand there; None when it is printed.
    """

    words: str
    term: FindingTerm
    status: str
    location: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    evidence: list[Fact] = field(default_factory=list)
    associate: list[Fact] = field(default_factory=list)
    hedges: list[str] = field(default_factory=list)
    located: bool = True
    inherited: str | None = None
    section: str = ""
    number: int = 0


@dataclass(slots=True)
class PrintedSentence:
    """A printed sentence; `order` is its place in the findings section."""

    text: str
    facts: list[Fact]
    order: int = 0


@dataclass(slots=True)
class Study:
    """A finished study. `sections` maps hist, find and impr to their sentences."""

    number: int
    subject: int
    study: int
    sequence: int
    date: int
    time: str
    situation: Situation
    sections: dict[str, list[PrintedSentence]]
    report: str
    contradiction: str = ""

    @property
    def facts(self) -> list[Fact]:
        return [
            fact for sentences in self.sections.values() for sentence in sentences for fact in sentence.facts
        ]


def is_evidence(sign: Fact, diagnosis: Fact) -> None:
    """Record that the sign supports the diagnosis, in both directions as the published files do."""
    diagnosis.evidence.append(sign)
    sign.associate.append(diagnosis)


def stream(*key: object) -> random.Random:
    """A random stream that depends on the key alone, not on PYTHONHASHSEED, the platform or earlier draws."""
    text = "\x1f".join(str(part) for part in key)
    return random.Random(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big"))
