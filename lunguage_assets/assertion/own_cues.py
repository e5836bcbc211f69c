"""Cues that a person adds in a home (`assertion.yaml`), checked by their examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from lunguage_assets.assertion.cues import Cue, Example, bundled_cues, read_cues
from lunguage_assets.assertion.reader import read_assertions
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.vocabulary import (
    Vocabulary,
    build_vocabulary,
    words_of_cues,
)
from lunguage_assets.errors import ConfigurationError

MOST_BYTES = 500_000
"""Of a cue file: the largest that is read within a second."""


def read_own_cues(path: Path) -> tuple[Cue, ...]:
    """Read a home's cues, and their examples with them.

    Raises:
        ConfigurationError: as of `read_cues`; an example gives something else than it
            says, or has none of its cue's words.
    """
    content = path.read_bytes() if path.exists() else b""
    if len(content) > MOST_BYTES:
        raise ConfigurationError(
            f"{path}, the whole file: found {len(content):,} bytes, expected at most "
            f"{MOST_BYTES:,}. Leave out entries; words are no file of reports."
        )
    return _read(path, content)


@lru_cache(maxsize=4)
def _read(path: Path, _content: bytes) -> tuple[Cue, ...]:
    """Read cues once for each content of the file: a vocabulary is built for it."""
    cues = read_cues(path, (cue.id for cue in bundled_cues()))
    # The examples are read together with all cues, as sentences of reports are.
    for fault in faults_of_examples(cues, build_vocabulary(cues)):
        raise ConfigurationError(f"{path}, {fault}")
    return cues


def faults_of_examples(cues: Iterable[Cue], vocabulary: Vocabulary) -> Iterator[str]:
    """Say which examples give something else than they say.

    Args:
        cues: with their examples.
        vocabulary: that has these cues.
    """
    for cue in cues:
        alone = Vocabulary(words_of_cues([cue]))
        is_shown = any(
            unit.cue.id
            for example in cue.examples
            for unit in tag(example.text, alone, example.section)
        )
        if cue.patterns and not is_shown:
            yield (
                f"cue {cue.id!r}: found no example with its words, expected one. Add a "
                "sentence with them."
            )
        for example in cue.examples:
            for fault in _faults(example, vocabulary):
                yield f"cue {cue.id!r}, example {example.text!r}: found {fault}"


def _faults(example: Example, vocabulary: Vocabulary) -> Iterator[str]:
    assertions = list(read_assertions(example.text, example.section, vocabulary))
    if not example.meant_by_mention:
        yield "no mention, expected one, and how it is meant: `effusion: negated`."
    for words, expected in example.meant_by_mention.items():
        begin = example.text.lower().find(words.lower())
        meant = tuple(
            assertion.shown
            for assertion in assertions
            if assertion.begin <= begin and begin + len(words) <= assertion.end
        )
        if meant != expected:
            found = ", ".join(meant) or "no known word of the sentence"
            yield (
                f"{words!r} to be {found}, expected {', '.join(expected)}. Change the "
                "cue, or what the example says."
            )
