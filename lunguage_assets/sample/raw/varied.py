"""One study in varied prose: the sample's problems, with lists of denials, courses, places, remarks.

The study's rows quote its sentences, so that what a structurer reads in the text can be held against them.
"""

from __future__ import annotations

from functools import cache

from lunguage_assets.sample.knowledge import Knowledge, StockStatement, statement
from lunguage_assets.sample.planning import IGNORED_TOPICS, StudyPlan
from lunguage_assets.sample.prose.composition import ReportDraft, finished
from lunguage_assets.sample.prose.history import history
from lunguage_assets.sample.prose.language import capitalised, enumeration
from lunguage_assets.sample.prose.markup import say
from lunguage_assets.sample.prose.phrasing import Phraser
from lunguage_assets.sample.prose.repertoire import Dictation
from lunguage_assets.sample.raw.anchoring import anchor
from lunguage_assets.sample.raw.layout import Page, fitting, laid_out
from lunguage_assets.sample.raw.styles import layout_data, layouts, varied_knowledge
from lunguage_assets.sample.records import PrintedSentence, Study, stream

_DENIAL_ORDER = 42


def compose_varied(plan: StudyPlan, seed: int) -> Study:
    """Write one study; depends on the plan and the seed alone."""
    rng = stream(seed, "varied", plan.number)
    style = "telegraphic" if rng.random() < layout_data()["telegraphic"] else "full"
    known = varied_knowledge(style)
    return finished(_VariedDraft(plan, Dictation(plan, Phraser(known, rng)), known))


class _VariedDraft(ReportDraft):
    """A draft whose findings and impression are filled with varied statements, and laid out as raw text."""

    def write_extras(self) -> None:
        """Add incidental devices and small findings."""
        portable = self.plan.situation.portable
        self._add_statements(
            "devices", "text", self.rng.choice([0, 1, 1, 2, 2, 3] if portable else [0, 0, 0, 0, 1])
        )
        self._add_statements("incidental", "text", self.rng.choice([0, 0, 1, 1, 2]))

    def write_normal(self) -> None:
        """Deny lists of findings, and fill up with normal statements; an impression is never empty."""
        closing = PrintedSentence(self.rng.choice(self.knowledge.wording["closing"]), [])
        if "impr" in self.layout and (not self.impr or self.rng.random() < 0.2):
            if "acute" not in self.taboo or self.impr:
                self._add_statements("normal", "impr", 1)
            if not self.impr:
                self.impr.append(closing)
        section = self.layout[0]
        for _ in range(self.rng.choice(self.knowledge.wording["proportions"]["denials"])):
            self._deny(section)
        self._add_statements("normal", section, 20)
        if not self.find and section == "find":
            self.find.append(PrintedSentence("No other finding.", []))

    def _deny(self, section: str) -> None:
        """One sentence that denies a list of findings of which the report says nothing else."""
        wording = self.knowledge.wording
        target = self.impr if section == "impr" else self.find
        spoken = {topic for sentence in target for fact in sentence.facts for topic in fact.term.topics}
        wanted = self.rng.choice(wording["proportions"]["denied"])
        chosen: list[str] = []
        topics: set[str] = set()
        for entry in self._deniable():
            option = _statement(self.knowledge, entry)
            about = option.topics - IGNORED_TOPICS
            if len(chosen) < wanted and self._fits(option) and not about & (topics | spoken):
                chosen.append(entry)
                topics |= about
        if chosen:
            frame = self.rng.choice(wording["denials"])
            if "[lungs|" in frame.lower() and "lungs" in self.taboo | spoken:
                frame = "No {or}."
            said = say(_statement(self.knowledge, _listed(frame, chosen)), self.rng, self.knowledge)["text"]
            if not self._contradicts(said):
                self.add(section, [self.dictation.take(said)])

    def _deniable(self) -> list[str]:
        """What may be denied, in the order in which it is tried: mostly the common findings first."""
        common, rare = (
            self.rng.sample(entries, len(entries)) for entries in self.knowledge.wording["denied"].values()
        )
        return [*common, *rare] if self.rng.random() < 0.7 else [rare[0], *common, *rare[1:]]

    def sections(self) -> dict[str, list[PrintedSentence]]:
        """The sections hist, find, impr in their final order; some sentences state nothing."""
        self.find.sort(key=lambda sentence: sentence.order)
        remarks = [one for one in self.knowledge.remarks if self.plan.later or not one.later]
        wanted = self.rng.choice(self.knowledge.wording["proportions"]["remarks"])
        for remark in self.rng.sample(remarks, wanted):
            last = remark.order > 50
            target = self.impr if last and self.impr and self.rng.random() < 0.6 else self.find
            if target:
                target.insert(
                    len(target) if last else 0, PrintedSentence(remark.texts["text"], [], remark.order)
                )
        data = layout_data()
        if self.find and self.rng.random() < data["shares"]["obtained"]:
            taken = self.rng.choice(fitting(data["obtained"], self.plan.situation.title))
            self.find.insert(0, PrintedSentence(taken, []))
        sections = {"hist": self._history(), "find": self.find, "impr": self.impr}
        for sentences in sections.values():
            for sentence in sentences:
                anchor(sentence, self.knowledge)
        self.page = self._page(sections)
        return self.page.sections

    def _history(self) -> list[PrintedSentence]:
        """Why the study was made; the question often follows the complaints behind two strokes."""
        sentences = history(self.dictation)
        if len(sentences) > 1 and sentences[-1].facts[-1:] and self.rng.random() < 0.35:
            first, last = sentences[-2], sentences[-1]
            joined = f"{first.text.removesuffix('.')} // {last.text.lower()}"
            return [*sentences[:-2], PrintedSentence(joined, [*first.facts, *last.facts])]
        return sentences

    def _page(self, sections: dict[str, list[PrintedSentence]]) -> Page:
        options = [one for one in layouts() if one.headings or (not sections["impr"] and sections["find"])]
        layout = self.rng.choices(options, [one.weight for one in options])[0]
        return laid_out(self.plan, layout, sections, self.rng)

    def report(self, sections: dict[str, list[PrintedSentence]]) -> str:
        """The full text."""
        return self.page.text


@cache
def _statement(known: Knowledge, text: str) -> StockStatement:
    return statement({"text": text, "order": _DENIAL_ORDER}, known.terms)


def _listed(frame: str, entries: list[str]) -> str:
    """The frame with the entries in its place."""
    joined = (
        enumeration(entries, "or") if len(entries) < 3 else f"{', '.join(entries[:-1])}, or {entries[-1]}"
    )
    if "{nor}" in frame and len(entries) != 2:
        frame = "No {or} is seen."
    words = {
        "or": joined,
        "Or": _raised(joined),
        "nor": " nor ".join(entries),
        "each": " and no ".join(entries) if len(entries) < 3 else joined,
    }
    return frame.format(**words)


def _raised(marked: str) -> str:
    """The marked text with a capital first letter."""
    return f"[{capitalised(marked[1:])}" if marked.startswith("[") else capitalised(marked)
