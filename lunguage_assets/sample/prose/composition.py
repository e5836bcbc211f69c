"""From a plan to a finished study.

Problems, special statements, devices, small findings, normal statements, history, report text. Normal
statements fill the report up to its planned number of findings and deny only what the report says nothing
else about.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from lunguage_assets.sample.knowledge import HedgingPhrase, Knowledge, StockStatement
from lunguage_assets.sample.planning import IGNORED_TOPICS, Episode, StudyPlan
from lunguage_assets.sample.prose import doubt, plain
from lunguage_assets.sample.prose.history import history
from lunguage_assets.sample.prose.markup import say
from lunguage_assets.sample.prose.phrasing import Phraser
from lunguage_assets.sample.prose.repertoire import Dictation, Repertoire
from lunguage_assets.sample.records import PrintedSentence, Study, stream

_DRAWS = 64
"""The most statements that are tried to fill a report up: some do not fit, some repeat."""


def compose(plan: StudyPlan, seed: int, knowledge: Knowledge) -> Study:
    """Write one study; depends on the plan and the seed alone."""
    rng = stream(seed, "study", plan.number)
    return finished(ReportDraft(plan, Dictation(plan, Phraser(knowledge, rng)), knowledge))


def finished(draft: ReportDraft) -> Study:
    """Let the draft grow, and number its findings."""
    plan, rng = draft.plan, draft.rng
    draft.write_problems()
    draft.write_extras()
    draft.write_normal()
    sections = draft.sections()
    for section, sentences in sections.items():
        for number, fact in enumerate((fact for sentence in sentences for fact in sentence.facts), start=1):
            fact.section, fact.number = section, number
    contradiction = plan.special.statement.conflict if plan.special is not None else ""
    time = (
        f"{rng.randint(0, 23):02d}{rng.randint(0, 59):02d}{rng.randint(0, 59):02d}.{rng.randint(0, 999):03d}"
    )
    return Study(
        plan.number, 90_000_000 + plan.subject, 90_000_001 + plan.number, plan.sequence, plan.date, time,
        plan.situation, sections, draft.report(sections), contradiction,
    )  # fmt: skip


@cache
def _deck(known: Knowledge, kind: str, section: str) -> tuple[tuple[StockStatement, ...], tuple[int, ...]]:
    """Statements of a kind that the section may hold, with their cumulative weights."""
    options = tuple(
        option
        for option in known.statements[kind]
        if section == "text" or option.section in (section, "both")
    )
    return options, tuple(accumulate(option.weight for option in options))


class ReportDraft:
    """One study's findings and impression while they grow."""

    def __init__(self, plan: StudyPlan, dictation: Dictation, knowledge: Knowledge) -> None:
        self.plan, self.dictation, self.knowledge, self.rng = (
            plan,
            dictation,
            knowledge,
            dictation.phraser.rng,
        )
        self.find: list[PrintedSentence] = []
        self.impr: list[PrintedSentence] = []
        both = plan.special is not None or self.rng.random() < 0.91
        self.layout = ("find", "impr") if both else self.rng.choice([("find",), ("impr",)])
        self.taboo: set[str] = set()

    @property
    def count(self) -> int:
        return sum(len(sentence.facts) for sentence in (*self.find, *self.impr))

    def add(self, section: str, sentences: Sequence[PrintedSentence]) -> None:
        """Put sentences into the section, or into the only one.

        Normal statements no longer deny their topics.
        """
        target = self.find if section in ("find", "text") else self.impr
        if section not in (*self.layout, "text") or "find" not in self.layout:
            target = self.find if self.layout == ("find",) else self.impr
        for sentence in sentences:
            target.append(sentence)
            for fact in sentence.facts:
                if fact.status != "dn":
                    self.taboo |= fact.term.topics

    def write_problems(self) -> None:
        if self.plan.special is not None:
            self.taboo |= self.plan.special.statement.topics | {"acute"}
            for section, sentence in say(self.plan.special.statement, self.rng, self.knowledge).items():
                self.add(section, [self.dictation.take(sentence)])
        for episode in self.plan.episodes:
            if not episode.chronic or episode.hedges:
                self.taboo.add("acute")
            self._write_problem(episode)

    def _write_problem(self, episode: Episode) -> None:
        problem = Repertoire(self.dictation, episode)
        shares = self._share(episode)
        for section in self.layout:
            headline, hedges = section == "impr", shares[section]
            if hedges:
                self.add(section, doubt.hedged(problem, hedges, headline))
            elif section == self.layout[0]:
                self.add(
                    section,
                    plain.stated(problem, headline, sign_only=bool(episode.hedges) and not problem.signless),
                )
            elif self.rng.random() < (0.25 if episode.chronic else 0.92):
                self.add(section, plain.restated(problem))

    def _share(self, episode: Episode) -> dict[str, list[HedgingPhrase]]:
        """Hedges by section: the single one rather in the impression, more of them in both."""
        hedges, variant = episode.hedges, episode.variant
        apart = variant is not None and variant.words in episode.disorder.apart
        if len(self.layout) == 1 or apart:
            return {section: hedges if section == self.layout[0] else [] for section in self.layout}
        together = 0.8 if any(hedge.joins for hedge in hedges) else 0.2
        if len(hedges) == 1 or (len(hedges) == 2 and self.rng.random() < together):
            early = self.rng.random() < 0.45
            return {"find": hedges if early else [], "impr": [] if early else hedges}
        middle = (len(hedges) + 1) // 2
        return {"find": hedges[:middle], "impr": hedges[middle:]}

    # -- what is said besides the problems

    def write_extras(self) -> None:
        """Add incidental devices and small findings."""
        portable = self.plan.situation.portable
        devices = self.rng.choice([0, 0, 1, 1, 2, 3]) if portable else self.rng.choice([0, 0, 0, 0, 0, 1])
        small = self.rng.choice([0, 0, 0, 1, 1])
        for kind, wanted in (("devices", devices), ("incidental", small)):
            self._add_statements(kind, "text", wanted)

    def write_normal(self) -> None:
        """Fill up with normal statements; an impression is never empty."""
        closing = PrintedSentence(self.rng.choice(self.knowledge.wording["closing"]), [])
        if "impr" in self.layout and (not self.impr or self.rng.random() < 0.2):
            if "acute" in self.taboo and not self.impr:
                self.impr.append(closing)
            self._add_statements("normal", "impr", 1)
        if "impr" in self.layout and not self.impr:
            self.impr.append(closing)
        section = self.layout[0]
        self._add_statements("normal", section, 20)
        if not self.find and section == "find":
            self.find.append(PrintedSentence("No other finding.", []))

    def _add_statements(self, kind: str, section: str, wanted: int) -> None:
        """Add up to `wanted` statements of the kind, drawn by weight, while the report lacks rows.

        A statement must fit the views and the sequence, deny nothing that is stated and repeat nothing of its
        section.
        """
        target = self.impr if section == "impr" or "find" not in self.layout else self.find
        topics = {
            topic for sentence in target for fact in sentence.facts for topic in fact.term.topics
        } - IGNORED_TOPICS
        names = {fact.term.canonical for sentence in target for fact in sentence.facts}
        printed = {sentence.text for sentence in (*self.find, *self.impr)}
        room = self.plan.target - self.count
        if wanted <= 0 or room <= 0:
            return
        options, weights = _deck(self.knowledge, kind, section)
        for option in self.rng.choices(options, cum_weights=weights, k=_DRAWS):
            if wanted <= 0 or room <= 0:
                break
            if option.topics & topics or not self._fits(option):
                continue
            sentence = say(option, self.rng, self.knowledge)["text"]
            fresh = sentence.text not in printed and not any(
                fact.term.canonical in names for fact in sentence.facts
            )
            if fresh and len(sentence.facts) <= room + 1 and not self._contradicts(sentence):
                self.add(section, [self.dictation.take(sentence)])
                topics |= option.topics - IGNORED_TOPICS
                names |= {fact.term.canonical for fact in sentence.facts}
                room -= len(sentence.facts)
                wanted -= 1

    def _fits(self, option: StockStatement) -> bool:
        if (option.portable and not self.plan.situation.portable) or (option.later and not self.plan.later):
            return False
        return not option.topics & self.taboo

    def _contradicts(self, sentence: PrintedSentence) -> bool:
        claims = self.dictation.claims
        return any(claims.get(fact.term.canonical, fact.status) != fact.status for fact in sentence.facts)

    # -- the finished report

    def sections(self) -> dict[str, list[PrintedSentence]]:
        """The sections hist, find, impr in their final order.

        Findings are in anatomical order, the impression has problems first, a remark stands now and then.
        """
        self.find.sort(key=lambda sentence: sentence.order)
        remark = self.rng.choice(
            [remark for remark in self.knowledge.remarks if self.plan.later or not remark.later]
        )
        if self.find and self.rng.random() < 0.2:
            self.find.append(PrintedSentence(remark.texts["text"], [], remark.order))
            self.find.sort(key=lambda sentence: sentence.order)
        return {"hist": history(self.dictation), "find": self.find, "impr": self.impr}

    def report(self, sections: dict[str, list[PrintedSentence]]) -> str:
        """The full text with headings; every sentence stands in it unchanged."""
        headings = self.knowledge.wording["headings"]
        compared = self.rng.choice(headings["comparison_later" if self.plan.later else "comparison"])
        parts = [self.plan.situation.title]
        parts.append(
            f"{self.rng.choice(headings['history'])}: "
            + " ".join(sentence.text for sentence in sections["hist"])
        )
        parts.append(f"COMPARISON: {compared}")
        if sections["find"]:
            parts.append("FINDINGS:\n" + " ".join(sentence.text for sentence in sections["find"]))
        if sections["impr"]:
            lines = [sentence.text for sentence in sections["impr"]]
            numbered = (
                lines
                if len(lines) == 1
                else [f"{number}. {line}" for number, line in enumerate(lines, start=1)]
            )
            parts.append("IMPRESSION:\n" + "\n".join(numbered))
        return "\n\n".join(parts) + "\n"
