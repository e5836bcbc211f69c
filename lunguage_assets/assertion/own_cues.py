"""Cues that a person adds in a home (`assertion.yaml`), checked by their examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from lunguage_assets.assertion.cues import Cue, Example, bundled_cues, read_cues
from lunguage_assets.assertion.hedges import hedge_cues
from lunguage_assets.assertion.reader import read_assertions
from lunguage_assets.assertion.vocabulary import Vocabulary, build_vocabulary
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
    taken = (cue.id for cue in (*bundled_cues(), *hedge_cues()))
    cues = read_cues(path, taken)
    # The examples are read together with all cues, as sentences of reports are.
    vocabulary = build_vocabulary(cues)
    for fault in faults_of_examples(cues, vocabulary):
        raise ConfigurationError(f"{path}, {fault}")
    return cues


def faults_of_examples(cues: Iterable[Cue], vocabulary: Vocabulary) -> Iterator[str]:
    """Say which examples give something else than they say.

    Args:
        cues: with their examples.
        vocabulary: that has these cues.
    """
    for cue in cues:
        shows_words = any(_has_words(cue, example) for example in cue.examples)
        if cue.patterns and not shows_words:
            yield (
                f"cue {cue.id!r}: found no example with its words, expected one. Add a "
                "sentence with them."
            )
        for example in cue.examples:
            yield from _faults(cue, example, vocabulary)


def _faults(cue: Cue, example: Example, vocabulary: Vocabulary) -> Iterator[str]:
    address = f"cue {cue.id!r}, example {example.text!r}"
    assertions = list(read_assertions(example.text, example.section, vocabulary))
    for words, expected in example.meant_by_mention.items():
        begin = example.text.lower().find(words.lower())
        if begin < 0:
            yield (
                f"{address}: found {words!r} as a mention, expected words of the "
                "sentence. Write them as they stand there."
            )
            continue
        end = begin + len(words)
        meant = tuple(
            assertion.meant
            for assertion in assertions
            if assertion.begin <= begin and end <= assertion.end
        )
        if not meant:
            yield (
                f"{address}: found no known word at {words!r}, expected a finding, or "
                "another word of the vocabulary. Take one that the reader knows."
            )
        elif meant != expected:
            yield (
                f"{address}: found {words!r} to be {', '.join(meant)}, expected "
                f"{', '.join(expected)}. Change the cue, or what the example says."
            )


def _has_words(cue: Cue, example: Example) -> bool:
    """Whether a sentence has words of a cue where they count."""
    vocabulary = Vocabulary.of_cue(cue)
    tokens = vocabulary.tokens(example.text)
    for start in range(len(tokens)):
        sense, _ = vocabulary.match(tokens, start, example.section)
        if sense is not None:
            return True
    return False
