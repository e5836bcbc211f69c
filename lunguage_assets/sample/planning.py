"""The plan of a corpus: quotas by block, patients, problems, allotted hedges.

Studies come in blocks of 200. A block deals out, from shuffled decks, exactly the hedging phrases, diagnosis
variants, view situations and special statements that its quota asks for, and depends on nothing but (seed,
block number): the first N studies of a larger sample are therefore the smaller sample, and quotas hold for
every whole block.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from lunguage_assets.sample.knowledge import (
    Disorder,
    FindingTerm,
    HedgingPhrase,
    Knowledge,
    Site,
    Situation,
    StockStatement,
)
from lunguage_assets.sample.records import stream

IGNORED_TOPICS = frozenset({"lungs"})
"""Topics too general to make two statements clash."""


@dataclass(slots=True)
class Episode:
    """One problem of a study: its place, its change since the last study, its hedges."""

    disorder: Disorder
    place: Site | None
    trend: str = ""
    chronic: bool = False
    variant: FindingTerm | None = None
    hedges: list[HedgingPhrase] = field(default_factory=list)


@dataclass(slots=True)
class Special:
    """A statement that the block's quota puts into this study."""

    kind: str
    statement: StockStatement


@dataclass(slots=True)
class Allotment:
    """The share of a study in its block's quotas."""

    situation: Situation
    hedges: list[HedgingPhrase] = field(default_factory=list)
    variant: tuple[Disorder, FindingTerm] | None = None
    special: Special | None = None


@dataclass(slots=True)
class StudyPlan:
    """The plan of one study.

    `target` counts rows of findings and impression.
    """

    number: int
    subject: int
    sequence: int
    age: int
    sex: str
    date: int
    situation: Situation
    episodes: list[Episode]
    special: Special | None
    target: int

    @property
    def later(self) -> bool:
        return self.sequence > 1


def plans(reports: int, seed: int, knowledge: Knowledge) -> Iterator[StudyPlan]:
    """The plans of the first `reports` studies, in order."""
    size = knowledge.wording["proportions"]["block"]
    subject = 0
    for block in range(-(-reports // size)):
        allotments = deal(block, seed, knowledge)
        first = 0
        for patient_size in _patients(stream(seed, "patients", block), size, knowledge):
            subject += 1
            wanted = min(patient_size, reports - block * size - first)
            if wanted <= 0:
                return
            patient = _Patient(subject, stream(seed, "patient", subject), knowledge)
            for position in range(wanted):
                yield patient.next_study(block * size + first + position, allotments[first + position], seed)
            first += patient_size


def _patients(rng: random.Random, size: int, knowledge: Knowledge) -> list[int]:
    sizes: list[int] = []
    while sum(sizes) < size:
        sizes.append(min(rng.choice(knowledge.wording["proportions"]["patient_studies"]), size - sum(sizes)))
    return sizes


def deal(block: int, seed: int, knowledge: Knowledge) -> list[Allotment]:
    """Deal the block's quotas to its studies."""
    share = knowledge.wording["proportions"]
    rng = stream(seed, "block", block)
    situations = [situation for situation in knowledge.situations for _ in range(situation.per_block)]
    rng.shuffle(situations)
    allotments = [Allotment(situation) for situation in situations]
    _deal_specials(allotments, rng, knowledge)
    plain = [allotment for allotment in allotments if allotment.special is None]
    variants = {
        (disorder.name, words) for disorder in knowledge.disorders.values() for words in disorder.variants
    }
    chosen = rng.sample(plain, len(variants))
    for (name, words), allotment in zip(sorted(variants), chosen, strict=True):
        allotment.variant = (knowledge.disorders[name], knowledge.terms[words])
    uses = [hedge for hedge in knowledge.hedges.values() for _ in range(hedge.uses)]
    rng.shuffle(uses)
    slots = [allotment for allotment in plain for _ in range(rng.choice(share["hedges"]))]
    while len(slots) < len(uses):
        slots.append(rng.choice(plain))
    rng.shuffle(slots)
    for hedge in uses:  # no report uses a phrase twice by plan, as long as there is a choice
        slot = next((number for number, allotment in enumerate(slots) if hedge not in allotment.hedges), 0)
        slots.pop(slot).hedges.append(hedge)
    return allotments


def _deal_specials(allotments: list[Allotment], rng: random.Random, knowledge: Knowledge) -> None:
    specials: list[Special] = []
    for kind, count in knowledge.wording["proportions"]["specials"].items():
        deck = list(knowledge.statements[kind])
        rng.shuffle(deck)
        specials += [Special(kind, deck[i % len(deck)]) for i in range(count)]
    for special, allotment in zip(specials, rng.sample(allotments, len(specials)), strict=True):
        allotment.special = special


class _Patient:
    """Carries a patient's chronic problems and the last acute ones from study to study."""

    def __init__(self, subject: int, rng: random.Random, knowledge: Knowledge) -> None:
        self.subject, self.rng, self.knowledge = subject, rng, knowledge
        self.age, self.sex = rng.randint(23, 91), rng.choice(["man", "woman", "male", "female"])
        self.day = date(rng.randint(2110, 2190), 1, 1) + timedelta(days=rng.randint(0, 364))
        self.born = self.day.year - self.age
        self.sequence = 0
        self.acute: list[Episode] = []
        disorders = knowledge.disorders.values()
        self.chronic = [
            Episode(d, self._place(d), chronic=True) for d in disorders if rng.random() < d.chronic
        ]

    def next_study(self, number: int, allotment: Allotment, seed: int) -> StudyPlan:
        self.sequence += 1
        if self.sequence > 1:
            self.day += timedelta(days=self.rng.randint(1, 70))
            self.age = min(self.day.year - self.born, 91)
        self.rng = stream(seed, "plan", number)
        special = allotment.special
        if special is not None and special.statement.later and self.sequence == 1:
            special = Special(special.kind, self._first_visit(special))
        episodes = self._episodes(allotment, special)
        self.acute = [episode for episode in episodes if not episode.chronic]
        day = int(self.day.strftime("%Y%m%d"))
        target = self.rng.choice(self.knowledge.wording["proportions"]["findings"])
        return StudyPlan(
            number, self.subject, self.sequence, self.age, self.sex, day, allotment.situation, episodes,
            special, target,
        )  # fmt: skip

    def _first_visit(self, special: Special) -> StockStatement:
        """A statement of the same kind without a comparison."""
        return next(statement for statement in self.knowledge.statements[special.kind] if not statement.later)

    def _episodes(self, allotment: Allotment, special: Special | None) -> list[Episode]:
        """The study's problems, one per disorder.

        They are carried over, needed for the allotment, and perhaps one more.
        """
        banned = special.statement.topics - IGNORED_TOPICS if special is not None else frozenset[str]()
        chosen: dict[str, Episode] = {}

        def add(episode: Episode) -> bool:
            if episode.disorder.name in chosen or (episode.disorder.topics - IGNORED_TOPICS) & banned:
                return False
            chosen[episode.disorder.name] = episode
            return True

        if allotment.variant is not None:
            disorder, term = allotment.variant
            add(Episode(disorder, self._place(disorder), self._new_trend(disorder), variant=term))
        for hedge in allotment.hedges:
            if hedge.disorders and not hedge.disorders & chosen.keys():
                add(self._fresh(sorted(hedge.disorders)))
        for old in self.acute:
            if self.rng.random() < self.knowledge.wording["proportions"]["carried"]:
                add(Episode(old.disorder, old.place, self._later_trend(old.disorder)))
        wanted = max(
            -(-len(allotment.hedges) * 2 // 3), self.rng.choice([0, 1, 1, 2]) if not allotment.hedges else 1
        )
        for _ in range(20):
            if len(chosen) >= wanted:
                break
            add(self._fresh(list(self.knowledge.disorders)))
        for episode in self.chronic:
            if self.rng.random() < 0.6:
                trend = "no change" if self.sequence > 1 else ""
                add(Episode(episode.disorder, episode.place, trend, chronic=True))
        self._share_hedges(list(chosen.values()), allotment.hedges)
        return list(chosen.values())

    def _share_hedges(self, episodes: list[Episode], hedges: list[HedgingPhrase]) -> None:
        """Give every hedge to the least hedged problem that it fits, acute ones first.

        A hedge that can join another rather joins.
        """
        for hedge in sorted(hedges, key=lambda hedge: (not hedge.disorders, bool(hedge.joins))):
            fitting = [e for e in episodes if not hedge.disorders or e.disorder.name in hedge.disorders]
            single = [e for e in fitting if len(e.hedges) == 1]
            if hedge.joins and single and self.rng.random() < 0.7:
                fitting = single
            best = min(fitting, key=lambda e: (len(e.hedges), e.chronic, e.trend not in ("", "onset")))
            best.hedges.append(hedge)

    def _fresh(self, names: list[str]) -> Episode:
        disorders = [self.knowledge.disorders[name] for name in names]
        disorder = self.rng.choices(disorders, [disorder.weight for disorder in disorders])[0]
        return Episode(disorder, self._place(disorder), self._new_trend(disorder))

    def _new_trend(self, disorder: Disorder) -> str:
        return (
            "onset" if self.sequence > 1 and "onset" in disorder.trends and self.rng.random() < 0.35 else ""
        )

    def _later_trend(self, disorder: Disorder) -> str:
        return self.rng.choice([trend for trend in disorder.trends if trend != "onset"])

    def _place(self, disorder: Disorder) -> Site | None:
        return self.rng.choice(self.knowledge.sites_of(disorder.place))
