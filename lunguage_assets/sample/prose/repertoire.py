"""The words for one problem: its sign, its diagnoses, their noun phrases.

They agree with what the report already claims. A diagnosis is never given another status than the report gave
it before, so contradictions arise only where the plan wants them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lunguage_assets.errors import MethodError
from lunguage_assets.sample.knowledge import FindingTerm, HedgingPhrase, Site, knowledge
from lunguage_assets.sample.planning import Episode, StudyPlan
from lunguage_assets.sample.prose.language import NounPhrase, capitalised, fill
from lunguage_assets.sample.prose.phrasing import EXTENT, LOOK, Phraser
from lunguage_assets.sample.records import Fact, PrintedSentence


@dataclass(slots=True)
class Dictation:
    """The report's claims so far: `claims` maps canonical names to their status."""

    plan: StudyPlan
    phraser: Phraser
    claims: dict[str, str] = field(default_factory=dict)

    def take(self, sentence: PrintedSentence) -> PrintedSentence:
        """Remember the sentence's claims; the first one of a finding stands."""
        for fact in sentence.facts:
            self.claims.setdefault(fact.term.canonical, fact.status)
        return sentence


def overlap(one: FindingTerm, other: FindingTerm) -> bool:
    """Whether both name the same finding, or one's words contain the other's."""
    return one.canonical == other.canonical or one.words in other.words or other.words in one.words


@cache
def akin(one: str, other: str) -> bool:
    """Whether both belong to one family of diagnoses, which are no alternatives to each other."""
    families = knowledge().wording["families"]
    return any(
        any(stem in one for stem in family) and any(stem in other for stem in family) for family in families
    )


class Repertoire:
    """One problem's words.

    `sign` and `main` (diagnosis) stay the same through the report once they are chosen.
    """

    def __init__(self, dictation: Dictation, episode: Episode) -> None:
        self.dictation, self.episode, self.disorder = dictation, episode, episode.disorder
        self.phraser, self.rng, self.knowledge = (
            dictation.phraser,
            dictation.phraser.rng,
            dictation.phraser.knowledge,
        )
        self.sign: FindingTerm | None = None
        self.sign_number = ""
        self.sign_fact: Fact | None = None
        self.main: FindingTerm | None = None
        self.details: dict[str, dict[str, str]] = {}
        self.variant_due = episode.variant is not None

    @property
    def signless(self) -> bool:
        """Whether the next diagnosis carries its own place and is stated without a sign."""
        variant = self.episode.variant
        return variant is not None and variant.words in self.disorder.apart

    def sentence(
        self,
        template: str,
        mentions: Mapping[str, NounPhrase],
        headline: bool,
        words: Mapping[str, str] | None = None,
    ) -> PrintedSentence:
        text, facts = fill(template, mentions, words or {}, headline)
        return PrintedSentence(capitalised(text) + ".", facts, self.disorder.order)

    def mention(
        self,
        term: FindingTerm,
        status: str,
        site: Site | None,
        *,
        adorned: bool,
        headline: bool,
        **manner: Any,
    ) -> NounPhrase:
        """A noun phrase; a finding keeps the adjectives of its first full mention, or goes without."""
        known = self.details.get(term.canonical)
        if known is None:
            mention = self.phraser.mention(term, status, site, adorned=adorned, headline=headline, **manner)
            kept = {
                column: word for column, word in mention.fact.attributes.items() if column in (*EXTENT, *LOOK)
            }
            if adorned:
                self.details[term.canonical] = (
                    {} if manner.get("trend") == "onset" and "onset" in kept else kept
                )
            return mention
        always = term.details in self.knowledge.wording["always_detailed"]
        again = known if always or self.rng.random() < 0.5 else {}
        return self.phraser.mention(term, status, site, details=again, headline=headline, **manner)

    # -- the sign

    def signs(self, wish: str) -> list[FindingTerm]:
        """Signs that can stand in a grammatical number ('' any, 'one' or mass, 'many')."""
        if self.sign is not None:
            return [self.sign] if not wish or (self.sign_number == "many") == (wish == "many") else []
        terms = [self.knowledge.terms[words] for words in self.disorder.signs]
        free = [term for term in terms if self.dictation.claims.get(term.canonical, "dp") == "dp"]
        return [term for term in free if not wish or (self._number(term, wish) == "many") == (wish == "many")]

    def _number(self, term: FindingTerm, wish: str) -> str:
        return self.phraser.number(term, self.phraser.fitting_site(term, self.episode.place), wish)

    def show_sign(self, headline: bool, wish: str = "", trend: str | None = None) -> NounPhrase:
        """A mention of the problem's sign, full the first time, plainer afterwards.

        `trend` replaces the problem's own.
        """
        first = self.sign is None
        if self.sign is None:
            options = self.signs(wish) or [self.knowledge.terms[words] for words in self.disorder.signs]
            self.sign = self.rng.choices(options, [self.disorder.signs[term.words] for term in options])[0]
            self.sign_number = self._number(self.sign, wish)
        site = self.phraser.fitting_site(self.sign, self.episode.place)
        if trend is None:
            trend = self.episode.trend if first or headline else ""
        shown = self.mention(
            self.sign, "dp", site, number=self.sign_number, adorned=True, trend=trend, headline=headline
        )
        shown.new = first
        return shown

    # -- the diagnosis

    def diagnosis(
        self,
        status: str,
        avoid: Collection[FindingTerm] = (),
        settled: bool = False,
        grave: bool = False,
        number: str = "",
    ) -> FindingTerm:
        """A diagnosis that may have this status.

        The planned variant comes first, then the main one again, or a new one by weight. It overlaps with
        nothing of `avoid`; `grave`: it is no harmless finding; `number`: 'one' rules out plurals.
        """

        def free(term: FindingTerm) -> bool:
            claims = self.dictation.claims
            if number == "one" and term.kind == "plural":
                return False
            if claims.get(term.canonical, status) != status or (
                grave and any(w in term.words for w in self.knowledge.wording["harmless"])
            ):
                return False
            if any(said[1] != status[1] and akin(name, term.canonical) for name, said in claims.items()):
                return False
            return not any(overlap(term, other) or akin(term.words, other.words) for other in avoid)

        variant = self.episode.variant
        if self.variant_due and variant is not None and status != "tn" and free(variant):
            self.variant_due = False
            self.main = variant
            return variant
        if self.main is not None and free(self.main) and self.rng.random() < 0.5:
            return self.main
        pools = [self.disorder.settled] if settled else []
        pools += [
            self.disorder.diagnoses,
            self.disorder.settled,
            dict.fromkeys((*self.disorder.variants, *self.knowledge.wording["elsewhere"]), 1),
        ]
        for pool in pools:
            options = [
                words
                for words in pool
                if free(self.knowledge.terms[words]) and words not in self.disorder.apart
            ]
            if options:
                chosen = self.knowledge.terms[
                    self.rng.choices(options, [pool[words] for words in options])[0]
                ]
                self.main = self.main or (chosen if status != "tn" else None)
                return chosen
        raise MethodError(
            "resources/synthetic: nothing is left to say of "
            f"{self.disorder.name} with status {status}. Add diagnoses to it."
        )

    def name(
        self,
        term: FindingTerm,
        status: str,
        headline: bool,
        *,
        beside: Fact | None = None,
        number: str = "",
        plain: bool = False,
        bare: bool = False,
    ) -> NounPhrase:
        """A mention of a diagnosis.

        Beside a finding of the same place, the place is recorded and not repeated.

        `bare`: no adjectives; `plain`: no adjectives and the place only as an adjective, as two alternatives
            that share it need it.
        """
        site = self.phraser.fitting_site(term, self.episode.place)
        if number == "one" and term.kind == "count" and site is not None and site.side == "bilateral":
            site = None
        shares = beside is not None and bool(set(term.sites) & set(beside.term.sites))
        implied = (
            site is not None and beside is not None and bool(beside.location) and self.rng.random() < 0.5
        )
        printed = None if shares or implied or (plain and site is not None and not site.before) else site
        mention = self.mention(
            term, status, printed, number=number or self.phraser.number(term, site),
            adorned=beside is None and not plain and not bare, headline=headline, extra=self.disorder.extra,
            attributive=plain or beside is not None,
        )  # fmt: skip
        if beside is not None and site is not None and printed is None and self.rng.random() < 0.85:
            mention.fact.location = beside.location if shares else site.canonical
        if printed is None:
            mention.fact.inherited = beside.location if beside is not None and shares else ""
        return mention

    def wish(self, hedge: HedgingPhrase) -> str:
        """The number that a hedge's verb form asks of its subject."""
        return "many" if hedge.plural else "one" if hedge.singular else ""
