"""Words joined to phrases, and phrases to what they describe: places, attributes, parts of the body
(method.md sections 4 and 7).
"""

from __future__ import annotations

from lunguage_assets.structuring.rules.drafts import (
    ABNORMALITIES,
    COURSES,
    DEVICE,
    EVERYWHERE,
    JOINS,
    SIDES,
    Draft,
    Step,
    goes_on,
    is_joined_to_finding,
    is_label,
    is_led,
    is_of_examination,
    is_subject,
    lies_somewhere,
    name_by_place,
    place_follows,
    says_state,
    steps_of,
    take_place_of_evidence,
    with_noun,
    with_side,
)
from lunguage_assets.structuring.rules.lexicon import Kind
from lunguage_assets.structuring.rules.tagging import Unit

_COURSE_OF = {
    "increased": "worsened",
    "decreased": "improved",
    "reduced": "improved",
    "diminished": "improved",
}
"""Of a finding, "has increased" is its course; of a part of the body, its size."""
_PLACES: frozenset[Kind] = frozenset({"anatomy", "place", "preposition"})
_NEAR = frozenset(
    {
        "over", "overlying", "overlie", "overly", "overlapping", "projecting", "project", "projected",
        "superimposed", "near", "adjacent", "along", "above", "below", "behind", "beneath", "under", "to",
        "toward", "towards", "abutting", "approaching", "between",
    }
)  # fmt: skip
"""Prepositions of what a finding lies beside."""
_LEVELS = frozenset({"above", "below", "under", "beneath", "behind"})
"""Prepositions that are a part of the place: "5 cm above the carina"."""
_ANYWHERE = ABNORMALITIES | {"enlargement", "calcification", "mass", "nodule", "lesion", "cyst", "deformity"}
"""Findings that mean nothing without their organ: of a sub-heading, when they have none."""
_NO_PLACES = frozenset({"heart size", "lung volumes"})
"""What is measured, and where nothing lies."""
_NO_SUPPORT = ("PATIENT INFO.", "OTH")
_LIMITS = "assessment_limitations"
_MODALS = frozenset({"may", "might", "could"})


class Phrases:
    """Reads the units of a sentence from left to right; `drafts` are the mentions in their order."""

    def __init__(self, units: list[Unit]) -> None:
        self.drafts: list[Draft] = []
        self._held: list[Unit] = []
        self._tightly = False
        """Whether a slash joins ("scarring/atelectasis")."""
        self._carried: set[Kind] = set()
        """What stands before adjectives that are joined to those of a finding."""
        self._begin_clause()
        steps = list(steps_of(units))
        for number, (between, chunk) in enumerate(steps):
            for unit in between:
                if unit.aside:
                    self._begin_clause()
                elif unit.kind == "break":
                    self._break(unit)
            if chunk:
                after = steps[number + 1] if number + 1 < len(steps) else ([], [])
                self._take(chunk, between, after)
        self._limit()
        self.drafts = [draft for draft in self.drafts if draft.is_finding or draft.judged]
        for draft in self.drafts:
            take_place_of_evidence(draft)
            name_by_place(draft)

    def _limit(self) -> None:
        """What limits the view, said behind a finding ("..., given patient rotation"), is said of it."""
        found = next((draft for draft in reversed(self.drafts) if draft.is_finding or draft.described), None)
        if found is not None:
            found.words = [*found.words, *(word for word in self._held if word.code == _LIMITS)]

    def _begin_clause(self) -> None:
        self._limit()
        self._last: list[Draft] = []
        """The findings that were named last, joined."""
        self._alternatives: list[Draft] = []
        self._subjects: list[Draft] = []
        """Parts of the body of which nothing has been said yet."""
        self._described: list[Draft] = []
        self._topic: list[Unit] = []
        self._labelled = False
        """Whether the topic is a sub-heading."""
        self._held = []
        self._role = ""

    def _break(self, unit: Unit) -> None:
        unsaid = unit.form in ("there", "that", "which") and not self._last and not self._described
        topic = self._topic if unsaid or unit.form == "but" else []
        labelled = self._labelled
        last = self._last if unit.form in ("which", "that", "this", "these", "it", "they", "but") else []
        self._begin_clause()
        self._topic, self._last, self._labelled = topic, last, labelled

    def _take(self, chunk: list[Unit], between: list[Unit], after: Step) -> None:
        kinds = {unit.kind for unit in between}
        if self._carried:
            kinds, self._carried = self._carried, set()
        if between and between[-1].form in _MODALS:
            kinds.discard("and")  # "an opacity is seen and may represent pneumonia"
        if "alternative" in kinds and all(unit.code == "t" for unit in between if unit.kind == "deny"):
            kinds.discard("deny")  # "atelectasis or, less likely, pneumonia"
        self._tightly = any(unit.form == "/" for unit in between)
        heads = any(unit.kind == "anatomy" for unit in chunk)
        if self._is_what_broke(chunk, between):
            self._last[-1].places = self._last[-1].places + chunk
            self._role = "place"
        elif any(unit.kind == "finding" for unit in chunk):
            self._finding(chunk, kinds)
        elif heads or (any(unit.kind == "place" for unit in chunk) and not self._is_said(chunk, kinds)):
            near = bool(between) and between[-1].form in _NEAR
            self._place(
                [*(unit for unit in between if unit.form in _LEVELS), *chunk], kinds, after, near=near
            )
        elif not heads and is_of_examination(chunk, after):
            return
        elif not heads and "copula" not in kinds and kinds & JOINS and goes_on(after):
            self._held = self._held + chunk
        elif not heads and kinds <= {"open", "link"} and kinds and is_joined_to_finding(after):
            self._held, self._carried = self._held + chunk, kinds
        else:
            if self._role == "place" and kinds <= JOINS and kinds and place_follows(after):
                again = Draft(self._last[-1].unit, [], [])
                self.drafts.append(again)
                self._last = [again]
            self._words(chunk, kinds)

    def _is_what_broke(self, chunk: list[Unit], between: list[Unit]) -> bool:
        """Whether a device is the place of the fracture before it ("fracture of the pacemaker lead")."""
        of = bool(between) and all(unit.form in ("of", "in", "the") for unit in between)
        found = [unit for unit in chunk if unit.kind == "finding"]
        broken = bool(self._last) and self._last[-1].unit.sense.name == "fracture"
        return of and broken and bool(found) and all(unit.code == DEVICE for unit in found)

    def _finding(self, chunk: list[Unit], kinds: set[Kind]) -> None:
        drafts: list[Draft] = []
        places: list[Unit] = []
        held, self._held = self._held, []
        if "deny" in kinds:
            held = []  # "chronic changes, no acute disease"
        words = list(held)
        for unit in chunk:
            if unit.kind == "finding":
                if drafts and (drafts[-1].unit.code == DEVICE) != (unit.code == DEVICE):
                    device, broken = sorted((drafts[-1].unit, unit), key=lambda one: one.code != DEVICE)
                    if broken.sense.name == "fracture":
                        places = [*drafts[-1].places, *places, device]
                        drafts[-1] = Draft(broken, places, [*drafts[-1].words, *words])
                        places, words = [], []
                        continue
                drafts.append(Draft(unit, places, words))
                places, words = [], []
            elif unit.kind in ("anatomy", "place"):
                places.append(unit)
            else:
                if drafts:
                    unit.code = _COURSE_OF.get(unit.form, unit.code)
                words.append(unit)
        drafts[-1].places = drafts[-1].places + places
        drafts[-1].words = drafts[-1].words + words
        first = drafts[0]
        if kinds <= JOINS and self._role == "side" and first.places:
            shared = first.places[1:] if all(unit.form in SIDES for unit in self._topic) else []
            other = Draft(first.unit, with_noun([*self._topic, *shared], first.places), held)
            first.words = [word for word in first.words if word not in held]
            first.places = with_side(first.places, self._topic)
            drafts.insert(0, other)
        elif not first.places and self._topic and not self._described and not (self._last and kinds & JOINS):
            for draft in drafts:
                listed = self._labelled or any(unit.sense.name in _NO_PLACES for unit in self._topic)
                if not listed and not draft.places and len(self._subjects) > 1:
                    if not draft.unit.denied:  # of several organs a denial has no place: it is of all of them
                        draft.groups = [[*subject.places, subject.unit] for subject in self._subjects]
                elif not listed:
                    draft.places = draft.places or self._topic
                elif draft.unit.sense.name in _ANYWHERE:
                    draft.organ = self._topic
            self._subjects = []
        if "copula" in kinds and self._last and first.unit.sense.name == "fracture":
            named = self._last[-1]
            if named.unit.code == DEVICE:  # "the wire is fractured"
                first.places = [*first.places, *named.places, named.unit]
        if self._last and kinds & {"link", "open"} and not kinds & {"and", "alternative", "with"}:
            for draft in drafts:
                draft.links = [one for one in self._last if one.unit.code not in _NO_SUPPORT]
        elif self._last and kinds and kinds <= JOINS and self._last[-1].links:
            for draft in drafts:
                draft.links = self._last[-1].links
        joined = bool(self._last) and kinds <= JOINS and bool(kinds)
        if joined and ("alternative" in kinds or self._tightly):
            for draft in drafts:
                if not (draft.unit.denied and self._last[-1].unit.denied):  # "no right mass or fracture"
                    draft.places = draft.places or self._last[-1].places
        if "alternative" in kinds and joined:
            self._alternatives = [*(self._alternatives or self._last[-1:]), *drafts]
        else:
            self._alternatives = []
        self._last = [*self._last, *drafts] if joined else drafts
        self.drafts += drafts
        if self._described and not self._labelled:
            self._topic = []
        self._subjects, self._described = [], []
        self._role = "finding"

    def _place(self, chunk: list[Unit], kinds: set[Kind], after: Step, *, near: bool) -> None:
        places = [unit for unit in chunk if unit.kind in _PLACES]
        words = [unit for unit in chunk if unit.kind not in _PLACES]
        if chunk[-1] in words and self._last:  # "effusion on the left increased"
            chunk[-1].code = _COURSE_OF.get(chunk[-1].form, chunk[-1].code)
        if "preposition" in kinds and self._last and self._role in ("finding", "place", "words"):
            for target in self._alternatives or self._placed(kinds):
                if near and lies_somewhere(target):
                    self._role = "beside"
                    continue
                own = target.places is not self._topic or target.unit.code == DEVICE
                if not own and any(unit.kind == "anatomy" for unit in places):
                    target.places = [unit for unit in target.places if unit.form in SIDES]
                if self._role == "place" and kinds & JOINS and target.groups:
                    target.groups[-1] = with_noun(target.groups[-1], places)
                    target.groups.append(with_side(places, target.groups[-1]))
                elif not target.groups:
                    target.groups.append(places)
                else:
                    target.groups[-1] = target.groups[-1] + places
                target.words = target.words + words
            self._role = "beside" if self._role == "beside" else "place"
            return
        if self._role == "beside" and kinds and kinds <= {*JOINS, "preposition"} and not is_subject(after):
            return
        joined = bool(kinds) and kinds <= JOINS
        if (
            self._role == "place"
            and joined
            and self._last
            and not says_state(words)
            and not is_subject(after)
        ):
            for target in self._alternatives or self._last[-1:]:
                before = target.groups[-1] if target.groups else []
                target.groups[-1:] = [with_noun(before, places)] if target.groups else []
                target.groups.append(with_side(places, before))
            return
        heads = [unit for unit in places if unit.kind == "anatomy"]
        held, self._held = self._held, []
        if not heads and "and" in kinds and joined and words and self._is_other_side(places, after):
            other = Draft(self._last[-1].unit, places, held + words)
            self.drafts.append(other)
            self._last = [*self._last, other]
            return
        if not heads and self._subjects and joined and is_subject(after):
            return  # "the heart and pulmonary ___ are normal": of the second part, the noun is unknown
        if not heads:
            self._topic = places
            self._role = "side"
            self._held = held + words
            return
        if "preposition" in kinds and self._subjects and self._role == "subject":
            self._subjects[-1].places = self._subjects[-1].places + places
            return
        head = heads[-1]
        if joined and self._role == "side" and len(places) > 1:  # "mediastinal and hilar lymph nodes"
            places = [*self._topic, *places]
        subject = Draft(head, [unit for unit in places if unit is not head], held + words)
        self.drafts.append(subject)
        self._topic, self._labelled = places, is_label(places, after)
        self._role = "subject"
        if subject.described:
            if kinds <= JOINS and kinds:
                self._say(self._subjects, subject.words)
            self._described = [*self._described, subject] if kinds <= JOINS else [subject]
            self._subjects = []
        elif self._described and kinds and kinds <= JOINS and is_led(self._described[-1]):
            subject.words = [w for w in self._described[-1].words if w.kind == "normal" or w.code in COURSES]
            self._subjects = [subject]
            self._described = [*self._described, subject]
        else:
            self._subjects = [*self._subjects, subject] if joined else [subject]
            self._described = []
        self._last = []

    def _placed(self, kinds: set[Kind]) -> list[Draft]:
        """The findings whose place follows: with a verb between, all that are joined and have none ("A and B
        are present in the left base").
        """
        verb = self._role == "words" or bool(kinds & {"copula", "seen"})
        others = (
            draft
            for draft in self._last[:-1]
            if verb
            and not (draft.places or draft.groups or draft.unit.code == DEVICE)
            and draft.unit.sense.name not in EVERYWHERE
        )
        return [*others, *self._last[-1:]]

    def _is_other_side(self, places: list[Unit], after: Step) -> bool:
        """Whether a finding is named once for both sides ("small right effusion and moderate left")."""
        here = {unit.form for unit in places}
        there = {unit.form for unit in self._last[-1].places} if self._last else set()
        apart = here <= SIDES and bool(there & SIDES) and not here & there
        return self._role == "finding" and apart and not any(unit.kind == "finding" for unit in after[1])

    def _is_said(self, chunk: list[Unit], kinds: set[Kind]) -> bool:
        """Whether words and a place are said of what was named ("the lungs are clear bilaterally")."""
        return "copula" in kinds and chunk[0].kind != "place" and bool(self._subjects or self._last)

    def _words(self, chunk: list[Unit], kinds: set[Kind]) -> None:
        words = [unit for unit in chunk if unit.kind != "place"]
        places = [unit for unit in chunk if unit.kind == "place"]
        if not self._subjects and not self._described and any(w.kind == "normal" for w in words):
            self._subject_again()
        if self._subjects and self._role in ("subject", "words"):
            self._say(self._subjects, words, places)
            if says_state(words) or any(w.code in COURSES for w in words):
                self._described, self._subjects = self._subjects, []
            self._role = "words"
        elif self._described and self._role in ("subject", "words"):
            self._say(self._described, words, places)
        elif self._last and ("copula" in kinds or self._role in ("finding", "place", "words")):
            self._say(self._last if "copula" in kinds else self._last[-1:], words, places)
            self._role = "words" if "copula" in kinds else self._role
        else:
            self._held = self._held + words

    def _subject_again(self) -> None:
        """ "The lungs are hyperinflated but clear": what was the place of a finding is now the subject."""
        heads = [unit for unit in self._topic if unit.kind == "anatomy"]
        if heads:
            subject = Draft(heads[-1], [unit for unit in self._topic if unit is not heads[-1]], [])
            self.drafts.append(subject)
            self._subjects, self._role = [subject], "subject"

    @staticmethod
    def _say(drafts: list[Draft], words: list[Unit], places: list[Unit] | None = None) -> None:
        for draft in drafts:
            if draft.is_finding:
                for word in words:
                    word.code = _COURSE_OF.get(word.form, word.code)
            draft.words = draft.words + words
            draft.places = draft.places + (places or [])
