"""Noun phrases of findings: number, adjectives, place, abbreviation, and the cells that record them."""

from __future__ import annotations

import random

from lunguage_assets.sample.knowledge import FindingTerm, Knowledge, Site
from lunguage_assets.sample.prose.language import NounPhrase
from lunguage_assets.sample.records import Fact

EXTENT = ("measurement", "severity", "onset")
LOOK = ("morphology", "distribution")


class Phraser:
    """Builds mentions with one study's random stream."""

    def __init__(self, knowledge: Knowledge, rng: random.Random) -> None:
        self.knowledge, self.rng = knowledge, rng

    def fitting_site(self, term: FindingTerm, place: Site | None) -> Site | None:
        """The site of the term's kind on the problem's side, nearest to its level; None without one."""
        if place is None or not term.sites:
            return None
        if place.groups & set(term.sites):
            return place
        near = [
            site for group in term.sites for site in self.knowledge.sites_of(group) if site.side == place.side
        ]
        return max(near, key=lambda site: (site.level == place.level, self.rng.random()), default=None)

    def number(self, term: FindingTerm, site: Site | None, wish: str = "") -> str:
        """The grammatical number: `mass`, `one` or `many`.

        Both sides ask for the plural of a count noun; `wish` is the number that the words around ask for.
        """
        if term.kind in ("mass", "plural"):
            return "mass" if term.kind == "mass" else "many"
        if site is not None and site.side == "bilateral":
            return "many"
        common = term.details in self.knowledge.wording["often_plural"]
        if wish == "many":
            return "many" if common else "one"
        return "many" if not wish and common and self.rng.random() < 0.2 else "one"

    def mention(
        self,
        term: FindingTerm,
        status: str,
        site: Site | None = None,
        *,
        number: str = "",
        adorned: bool = False,
        trend: str = "",
        headline: bool = False,
        extra: tuple[str, ...] = (),
        attributive: bool = False,
        details: dict[str, str] | None = None,
    ) -> NounPhrase:
        """A noun phrase and its fact.

        `adorned` allows extent and look; `trend` is the column of a change since the last study;
        `attributive` puts the place before the noun; `details` are the adjectives that it already has in this
        report.
        """
        term = self._other_words(term) if headline else term
        fact = Fact(term.words, term, status)
        number = (
            self.number(term, site)
            if not number or term.kind != "count"
            else "one"
            if number == "mass"
            else number
        )
        change = self._change(fact, trend)
        chosen_details = self._details(term, adorned, bool(change)) if details is None else details
        fact.attributes.update(chosen_details)
        before = [*change, *chosen_details.values()]
        place, after = self._place(fact, site, headline, attributive)
        word = term.plural if number == "many" and term.plural else term.words
        fact.words = word if term.kind != "count" or self.rng.random() < 0.7 else term.words
        noun = self.knowledge.wording["capitals"].get(word, word)
        chosen = (self.rng.choice(extra),) if extra else ()
        return NounPhrase(fact, noun, number, (*before, *place), after, chosen)

    def _other_words(self, term: FindingTerm) -> FindingTerm:
        """The finding's words in the impression, perhaps abbreviated or reworded."""
        wording = self.knowledge.wording
        draw = self.rng.random()
        if draw < 0.12 and term.words in wording["short"]:
            return self.knowledge.terms[wording["short"][term.words]]
        if draw > 0.7 and term.words in wording["reworded"]:
            return self.knowledge.terms[wording["reworded"][term.words]]
        return term

    def _change(self, fact: Fact, trend: str) -> list[str]:
        never = trend == "onset" and any(
            word in fact.term.words for word in self.knowledge.wording["never_new"]
        )
        if not trend or never or self.rng.random() > 0.75:
            return []
        word = self.rng.choice(self.knowledge.wording["trends"][trend])
        fact.attributes[trend] = word
        return [word]

    def _details(self, term: FindingTerm, adorned: bool, changed: bool) -> dict[str, str]:
        """Extent and look by column; fewer beside a word of change, and none that repeats it."""
        groups = self.knowledge.details.get(term.details, {})
        always = term.details in self.knowledge.wording["always_detailed"]
        chosen = {}
        for columns, chance in ((EXTENT, 0.25 if changed else 0.6), (LOOK, 0.45)):
            options = [
                (column, word)
                for column in columns
                for word in groups.get(column, ())
                if not (changed and word == "increased")
            ]
            if options and ((always and columns is EXTENT) or (adorned and self.rng.random() < chance)):
                column, word = self.rng.choice(options)
                lists = {
                    name: self.rng.choice(self.knowledge.words[name])
                    for name in ("mm", "cm")
                    if f"{{{name}}}" in word
                }
                chosen[column] = word.format(**lists)
        return chosen

    def _place(
        self, fact: Fact, site: Site | None, headline: bool, attributive: bool
    ) -> tuple[list[str], str]:
        if site is None:
            return [], ""
        if headline and site.short and self.rng.random() < 0.5:
            fact.location = site.short
            return [site.short], ""
        follows = " " in fact.term.words and bool(site.groups & set(self.knowledge.wording["place_follows"]))
        stutters = any(words.split()[-1] == fact.term.words.split()[0] for words in site.before)
        if site.after and (
            not site.before or follows or stutters or (not attributive and self.rng.random() < 0.45)
        ):
            phrase, fact.location = self.rng.choice(site.after)
            return [], phrase
        fact.location = self.rng.choice(site.before)
        return [fact.location], ""
