"""English grammar of the synthetic reports: articles, agreement, noun phrases, templates.

Template tokens: {X} {a X} {the X} {a X+} {a X|possible} {X:is|are} name a mention; {limit} {limit,} and other
plain names are words that the caller gives. {the O} takes an indefinite article when the report did not
mention the sign before; at the start of a sentence in headline style it takes none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lunguage_assets.sample.records import Fact

_TOKEN = re.compile(
    r"\{(?:(a|the) )?([A-Z])(\+)?(?:\|([a-z ]+))?(?::([^{}|]+)\|([^{}|]+))?\}|\{([a-z]+)(,?)\}"
)
_AN = re.compile(r"[aeio]|un(?!i)|unin|ul|um|up|8|11\b|18\b|[FLMNRSX][A-Z]")


def article(following: str) -> str:
    """`a` or `an` before these words, by sound: an 8 mm nodule, a unilateral effusion, an RUL opacity."""
    return "an" if _AN.match(following) else "a"


def capitalised(sentence: str) -> str:
    """The sentence with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


def enumeration(words: list[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


@dataclass(slots=True)
class NounPhrase:
    """A noun phrase about one fact: words before the noun, the noun, the place after it.

    `number` is mass, one or many.

    `alternative` is a second diagnosis joined by 'or'; the verb then agrees with it, as the nearer one.
    `new`: not mentioned before.
    """

    fact: Fact
    noun: str
    number: str
    before: tuple[str, ...] = ()
    after: str = ""
    extra: tuple[str, ...] = ()
    alternative: NounPhrase | None = None
    new: bool = False

    @property
    def facts(self) -> list[Fact]:
        return [self.fact] if self.alternative is None else [self.fact, *self.alternative.facts]

    @property
    def nearest(self) -> str:
        return self.number if self.alternative is None else self.alternative.nearest

    def phrase(self, determiner: str = "", insert: str = "") -> str:
        """The noun phrase with `a`, `the` or no determiner; the alternative repeats an indefinite article."""
        core = " ".join(part for part in (insert, *self.before, self.noun) if part)
        bare = self.number == "mass" and core == self.noun and not self.after
        if determiner == "the" and not bare:
            core = f"the {core}"
        elif determiner == "a" and self.number == "one":
            core = f"{article(core)} {core}"
        if self.alternative is not None:
            core = f"{core} or {self.alternative.phrase('a' if determiner else '')}"
        return f"{core} {self.after}" if self.after else core


def fill(
    template: str, mentions: Mapping[str, NounPhrase], words: Mapping[str, str], headline: bool = False
) -> tuple[str, list[Fact]]:
    """The template's text and its facts in order of first mention.

    The text has no final stop, and its first letter as it falls.
    """
    order: list[Fact] = []

    def put(match: re.Match[str]) -> str:
        determiner, key, plus, insert, one, many, word, comma = match.groups()
        if word:
            return words[word] + comma
        mention = mentions[key]
        if one is not None:
            return one if mention.nearest != "many" else many
        order.extend(fact for fact in mention.facts if fact not in order)
        if headline and match.start() == 0:
            determiner = ""
        elif determiner == "the" and mention.new:
            determiner = "a"
        extra = insert or (mention.extra[0] if plus and mention.extra else "")
        return mention.phrase(determiner or "", extra)

    return _TOKEN.sub(put, template), order
