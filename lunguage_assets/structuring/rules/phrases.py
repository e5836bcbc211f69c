"""Words joined to phrases, and phrases to what they describe: places, attributes, parts of the body
(method.md sections 4 and 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lunguage_assets.assertion.units import DEVICE, JOINTS, LIMITATION, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.drafts import (
    COURSES,
    Draft,
    Step,
    says_state,
    steps_of,
    with_noun,
    with_side,
)

_COURSE_OF = {"increased": "worsened"} | dict.fromkeys(
    ("decreased", "reduced", "diminished"), "improved"
)
"""Of a finding, "has increased" is its course; of a part of the body, its size."""


class Phrases:
    """Reads the units of a sentence from left to right; `drafts` are the mentions in their order."""

    def __init__(self, units: list[TaggedToken]) -> None:
        self.drafts: list[Draft] = []
        self._held: list[TaggedToken] = []
        """Words of what is named next."""
        self._tightly = self._joined = False
        """Whether the phrase is joined to the one before, and whether by a slash ("scarring/atelectasis")."""
        self._carried: set[Kind] = set()
        """What stands before adjectives that are joined to those of a finding."""
        self._begin_clause()
        for step, after in pairwise([*steps_of(units), Step([], [])]):
            for unit in step.between:
                if unit.aside:
                    self._begin_clause()
                elif unit.kind == "break":
                    self._break(unit)
            if step.chunk:
                self._take(step, after)
        self._limit()
        self.drafts = [
            draft for draft in self.drafts if draft.is_finding or draft.judged
        ]
        self._explain_signs()
        for draft in self.drafts:
            draft.complete()

    def _explain_signs(self) -> None:
        """Link what is left open to the sign before it ("basal opacity, pneumonia cannot be excluded")."""
        sign: Draft | None = None
        for draft in self.drafts:
            explains = (
                draft.unit.is_hedged and draft.unit.name in WORDS["causes_of_signs"]
            )
            if (
                sign is not None
                and explains
                and not (draft.links or draft.unit.negation or draft.all_places)
            ):
                draft.links = [sign]
            elif draft.unit.name in WORDS["explained_signs"]:
                sign = None if draft.unit.negation or draft.unit.past else draft
            elif not explains and draft.unit.code != "PATIENT INFO.":
                sign = None  # something else is spoken of

    def _limit(self) -> None:
        """What limits the view, said behind a finding ("..., given patient rotation"), is said of it."""
        found = next(
            (
                draft
                for draft in reversed(self.drafts)
                if draft.is_finding or draft.described
            ),
            None,
        )
        if found is not None:
            # "..., and the left base cannot be assessed" is said of the base
            limits = (
                word
                for word in self._held
                if word.code == LIMITATION.code and not _limits_alone(word)
            )
            found.words = [*found.words, *limits]

    def _begin_clause(self) -> None:
        self._limit()
        self._last: list[Draft] = []
        """The findings that were named last, joined."""
        self._alternatives: list[Draft] = []
        self._subjects: list[Draft] = []
        """Parts of the body of which nothing has been said yet."""
        self._described: list[Draft] = []
        self._topic: list[TaggedToken] = []
        self._labelled = False
        """Whether the topic is a sub-heading."""
        self._held = []
        self._role = ""
        """What came last: "finding", "place", "beside", "subject", "side" or "words"."""

    def _break(self, unit: TaggedToken) -> None:
        unsaid = (
            unit.form in ("there", "that", "which")
            and not self._last
            and not self._described
        )
        topic = self._topic if unsaid or unit.form == "but" else []
        labelled = self._labelled
        last = (
            self._last
            if unit.form in ("which", "that", "this", "these", "it", "they", "but")
            else []
        )
        described = self._described if unit.form == "but" else []
        self._begin_clause()
        self._topic, self._last, self._labelled = topic, last, labelled
        self._described = described  # "the heart is enlarged but stable"
        self._role = "words" if described else ""

    def _take(self, step: Step, after: Step) -> None:
        between, chunk = step
        kinds, named = {unit.kind for unit in between}, {unit.kind for unit in chunk}
        if self._carried:
            kinds, self._carried = self._carried, set()
        if between and between[-1].form in WORDS["begins_a_meaning"]:
            kinds.discard("and")  # "an opacity is seen and may represent pneumonia"
        if "alternative" in kinds and all(
            unit.doubts for unit in between if unit.kind == "negated"
        ):
            kinds.discard("negated")  # "atelectasis or, less likely, pneumonia"
        if any(unit.is_mimicry for unit in between):
            kinds = (kinds - {"negated"}) | {
                "link"
            }  # "a skin fold simulates a pneumothorax"
        elif self._is_identified(step):
            kinds = {"link"}
        self._joined = bool(kinds) and kinds <= JOINTS
        self._tightly = any(unit.form == "/" for unit in between)
        if self._is_what_broke(step):
            self._last[-1].places = self._last[-1].places + chunk
            self._role = "place"
        elif "finding" in named:
            self._finding(chunk, kinds)
        elif self._is_where_judged(step, kinds, after):
            if (
                between[-1].form not in WORDS["beside"]
            ):  # "displaced to the left" tells no place
                self._described[-1].places = [*self._described[-1].places, *chunk]
        elif "anatomy" in named or (
            "place" in named and not self._is_said(chunk, kinds)
        ):
            near = bool(between) and between[-1].form in WORDS["beside"]
            levels = [unit for unit in between if unit.form in WORDS["levels"]]
            self._place([*levels, *chunk], kinds, after, near=near)
        elif after.counts_films(chunk):
            return
        elif "copula" not in kinds and kinds & JOINTS and after.goes_on:
            self._held = self._held + chunk
        elif kinds and kinds <= {"hedged", "link"} and after.adds_finding:
            self._held, self._carried = self._held + chunk, kinds
        else:
            if self._role == "place" and self._joined and after.has_own_place:
                self._last = [Draft(self._last[-1].unit, [], [])]
                self.drafts += self._last
            self._words(chunk, kinds)

    def _is_what_broke(self, step: Step) -> bool:
        """Whether a device is the place of the fracture before it ("fracture of the pacemaker lead")."""
        of = bool(step.between) and all(
            unit.form in ("of", "in", "the") for unit in step.between
        )
        found = [unit for unit in step.chunk if unit.kind == "finding"]
        broken = bool(self._last) and self._last[-1].unit.name == "fracture"
        return (
            of and broken and bool(found) and all(unit.code == DEVICE for unit in found)
        )

    def _is_identified(self, step: Step) -> bool:
        """Whether a verb says what a sign is ("the opacity is a granuloma")."""
        if (
            not self._last
            or not step.between
            or any(unit.kind != "copula" for unit in step.between)
        ):
            return False
        is_named = any(
            unit.kind == "finding" and _explains(unit) for unit in step.chunk
        )
        return is_named and self._last[-1].unit.name in WORDS["identified"]

    def _is_where_judged(self, step: Step, kinds: set[Kind], after: Step) -> bool:
        """Whether a place is that of the judgement before it ("narrowed at the level of the arch")."""
        leads = "preposition" in kinds and step.between[-1].form != "of"
        are_places = all(unit.kind in ("anatomy", "place") for unit in step.chunk)
        is_judged = bool(self._described) and says_state(self._described[-1].words)
        is_behind = is_judged and self._role in ("subject", "words")
        return leads and are_places and is_behind and not after.is_predicate

    def _finding(self, chunk: list[TaggedToken], kinds: set[Kind]) -> None:
        held, self._held = self._held, []
        if "negated" in kinds:
            held = []  # "chronic changes, no acute disease"
        drafts = _drafts_of(chunk, held)
        first = drafts[0]
        if kinds <= JOINTS and self._role == "side" and first.places:
            shared = (
                first.places[1:]
                if all(unit.form in WORDS["sides"] for unit in self._topic)
                else []
            )
            places = with_noun([*self._topic, *shared], first.places)
            words, first.words = _words_of_both(first, held)
            first.places = with_side(first.places, self._topic)
            drafts.insert(0, Draft(first.unit, places, words))
        elif kinds <= JOINTS and self._names_same_part(first):
            # "Right fifth rib and left seventh rib fractures"
            (subject,) = self._subjects
            words, first.words = _words_of_both(first, subject.words)
            drafts.insert(0, Draft(first.unit, [*subject.places, subject.unit], words))
        elif not (first.places or self._described or (self._last and kinds & JOINTS)):
            self._place_by_topic(drafts)
        last = self._last[-1] if self._last else None
        if (
            "copula" in kinds
            and last
            and first.unit.name == "fracture"
            and last.is_device
        ):
            first.places = [
                *first.places,
                *last.places,
                last.unit,
            ]  # "the wire is fractured"
        links: list[Draft] = []
        if kinds & {"link", "hedged"} and not kinds & {"and", "alternative", "with"}:
            links = [one for one in self._last if _explains(one.unit)]
        elif last and self._joined:
            links = last.links
        for draft in drafts:
            draft.links = links
        joined = last is not None and self._joined
        if last and joined and ("alternative" in kinds or self._tightly):
            for draft in drafts:
                if not (
                    draft.unit.negation and last.unit.negation
                ):  # "no right mass or fracture"
                    draft.places = draft.places or last.places
        if joined and "alternative" in kinds:
            self._alternatives = [*(self._alternatives or self._last[-1:]), *drafts]
        else:
            self._alternatives = []
        self._last = [*self._last, *drafts] if joined else drafts
        self.drafts += drafts
        if self._described and not self._labelled:
            self._topic = []
        self._subjects, self._described = [], []
        self._role = "finding"

    def _names_same_part(self, draft: Draft) -> bool:
        """Whether the part of the body before, of which nothing was said, is where this one is, too."""
        parts = {unit.name for unit in draft.places if unit.kind == "anatomy"}
        return (
            self._role == "subject"
            and self._joined
            and len(self._subjects) == 1
            and self._subjects[0].unit.name in WORDS["bones"]
            and parts == {self._subjects[0].unit.name}
        )

    def _place_by_topic(self, drafts: list[Draft]) -> None:
        """Give findings without a place what the clause is about: of several organs each, but no denial."""
        listed = self._labelled or any(
            unit.name in WORDS["measured"] for unit in self._topic
        )
        for draft in drafts if self._topic else ():
            if listed:
                if draft.unit.name in WORDS["anywhere"]:
                    draft.organ = self._topic
            elif draft.places or len(self._subjects) < 2:
                draft.places = draft.places or self._topic
            elif not draft.unit.negation:
                draft.groups = [
                    [*subject.places, subject.unit] for subject in self._subjects
                ]

    def _place(
        self, chunk: list[TaggedToken], kinds: set[Kind], after: Step, *, near: bool
    ) -> None:
        places = [
            unit for unit in chunk if unit.kind in ("anatomy", "place", "preposition")
        ]
        words = [unit for unit in chunk if unit not in places]
        heads = [unit for unit in places if unit.kind == "anatomy"]
        if chunk[-1] in words and self._last:  # "effusion on the left increased"
            chunk[-1].code = _COURSE_OF.get(chunk[-1].form, chunk[-1].code)
        if (
            "preposition" in kinds
            and self._last
            and self._role in ("finding", "place", "words")
        ):
            self._place_behind(places, words, kinds, near=near)
            return
        if (
            self._role == "beside"
            and kinds
            and kinds <= {*JOINTS, "preposition"}
            and not after.is_predicate
        ):
            return
        more = self._role == "place" and self._joined and self._last
        if more and not says_state(words) and not after.is_predicate:
            for target in self._alternatives or self._last[-1:]:
                before = target.groups[-1] if target.groups else []
                target.groups[-1:] = (
                    [with_noun(before, places)] if target.groups else []
                )
                target.groups.append(with_side(places, before))
            return
        held, self._held = self._held, []
        describes = any(word.code != LIMITATION.code for word in words)
        if (
            not heads
            and "and" in kinds
            and self._joined
            and describes
            and self._is_other_side(places, after)
        ):
            other = Draft(self._last[-1].unit, places, held + words)
            self.drafts.append(other)
            self._last = [*self._last, other]
        elif not heads and self._subjects and self._joined and after.is_predicate:
            return  # "the heart and pulmonary ___ are normal": of the second part, the noun is unknown
        elif not heads:
            self._topic = places
            self._role = "side"
            self._held = held + words
        elif "preposition" in kinds and self._subjects and self._role == "subject":
            self._subjects[-1].places = self._subjects[-1].places + places
        else:
            if (
                self._joined and self._role == "side" and len(places) > 1
            ):  # "mediastinal and hilar lymph nodes"
                places = [*self._topic, *places]
            if _lacks_joint(places, heads):
                # "The cardiac silhouette mediastinal contours are normal" speaks of both.
                first, places = (
                    places[: places.index(heads[1])],
                    places[places.index(heads[1]) :],
                )
                self._subject(
                    Draft(
                        heads[0],
                        [unit for unit in first if unit is not heads[0]],
                        held + words,
                    )
                )
                self._joined = True
            self._subject(
                Draft(
                    heads[-1],
                    [unit for unit in places if unit is not heads[-1]],
                    held + words,
                )
            )
            self._topic, self._labelled = places, after.labels(places)

    def _place_behind(
        self,
        places: list[TaggedToken],
        words: list[TaggedToken],
        kinds: set[Kind],
        *,
        near: bool,
    ) -> None:
        """Add a place behind a preposition to the findings before it."""
        beside = False
        for target in self._alternatives or self._placed(kinds, places):
            if near and target.lies_somewhere:
                beside = True
                continue
            own = target.places is not self._topic or target.is_device
            if not own and any(unit.kind == "anatomy" for unit in places):
                target.places = [
                    unit for unit in target.places if unit.form in WORDS["sides"]
                ]
            if self._role == "place" and kinds & JOINTS and target.groups:
                target.groups[-1] = with_noun(target.groups[-1], places)
                target.groups.append(with_side(places, target.groups[-1]))
            elif target.groups:
                target.groups[-1] = target.groups[-1] + places
            else:
                target.groups.append(places)
            target.words = target.words + words
        self._role = "beside" if beside else "place"

    def _subject(self, subject: Draft) -> None:
        """Take a part of the body: described already, by the words before it, or not yet."""
        self.drafts.append(subject)
        if subject.described:
            if self._joined:
                self._say(self._subjects, subject.words)
            self._described = [*self._described, subject] if self._joined else [subject]
            self._subjects = []
        elif self._described and self._joined and self._described[-1].is_led:
            subject.words = [
                w
                for w in self._described[-1].words
                if w.kind == "normal" or w.code in COURSES
            ]
            self._subjects = [subject]
            self._described = [*self._described, subject]
        else:
            self._subjects = [*self._subjects, subject] if self._joined else [subject]
            self._described = []
        self._last, self._role = [], "subject"

    def _placed(self, kinds: set[Kind], places: list[TaggedToken]) -> list[Draft]:
        """The findings whose place follows: behind a verb, all that are joined and have none.

        "Scoliosis and degenerative changes of the spine" are both of the spine.
        """
        bones = any(unit.name in WORDS["bones"] for unit in places)
        verb = self._role == "words" or bool(kinds & {"copula", "seen"})
        others = (
            draft
            for draft in self._last[:-1]
            if not (
                draft.all_places
                or draft.is_device
                or draft.unit.name in WORDS["everywhere"]
            )
        )
        reached = [
            draft
            for draft in others
            if verb or (bones and draft.unit.name in WORDS["skeletal"])
        ]
        return [*reached, *self._last[-1:]]

    def _is_other_side(self, places: list[TaggedToken], after: Step) -> bool:
        """Whether a finding is named once for both sides ("small right effusion and moderate left")."""
        here = {unit.form for unit in places}
        there = {unit.form for unit in self._last[-1].places} if self._last else set()
        apart = (
            here <= WORDS["sides"] and bool(there & WORDS["sides"]) and not here & there
        )
        return (
            self._role == "finding"
            and apart
            and not any(unit.kind == "finding" for unit in after.chunk)
        )

    def _is_said(self, chunk: list[TaggedToken], kinds: set[Kind]) -> bool:
        """Whether words and a place are said of what was named ("the lungs are clear bilaterally")."""
        return (
            "copula" in kinds
            and chunk[0].kind != "place"
            and bool(self._subjects or self._last)
        )

    def _words(self, chunk: list[TaggedToken], kinds: set[Kind]) -> None:
        words = [unit for unit in chunk if unit.kind != "place"]
        places = [unit for unit in chunk if unit.kind == "place"]
        if (
            not self._subjects
            and not self._described
            and any(w.kind == "normal" for w in words)
        ):
            self._subject_again()
        if self._subjects and self._role in ("subject", "words"):
            self._say(self._subjects, words, places)
            if says_state(words) or any(w.code in COURSES for w in words):
                self._described, self._subjects = self._subjects, []
            self._role = "words"
        elif self._described and self._role in ("subject", "words"):
            self._say(self._described, words, places)
        elif self._last and (
            "copula" in kinds or self._role in ("finding", "place", "words")
        ):
            self._say(
                self._last if "copula" in kinds else self._last[-1:], words, places
            )
            self._role = "words" if "copula" in kinds else self._role
        else:
            self._held = self._held + words

    def _subject_again(self) -> None:
        """ "The lungs are hyperinflated but clear": what was the place of a finding is now the subject."""
        heads = [unit for unit in self._topic if unit.kind == "anatomy"]
        if heads:
            subject = Draft(
                heads[-1], [unit for unit in self._topic if unit is not heads[-1]], []
            )
            self.drafts.append(subject)
            self._subjects, self._role = [subject], "subject"

    @staticmethod
    def _say(
        drafts: list[Draft],
        words: list[TaggedToken],
        places: Sequence[TaggedToken] = (),
    ) -> None:
        for draft in drafts:
            if draft.is_finding:
                for word in words:
                    word.code = _COURSE_OF.get(word.form, word.code)
            draft.words = draft.words + words
            draft.places = [*draft.places, *places]


def _explains(unit: TaggedToken) -> bool:
    """Whether a finding may support what stands behind it; devices and complaints don't."""
    return unit.code not in ("PATIENT INFO.", DEVICE) or unit.name in WORDS["harmless"]


def _limits_alone(word: TaggedToken) -> bool:
    """Whether it says of something else that it is not assessed."""
    return word.cue is not None and word.cue.category == "limitation"


def _lacks_joint(places: list[TaggedToken], heads: list[TaggedToken]) -> bool:
    """Whether two organs of a list stand side by side, without the "and" between."""
    listed = all(unit.name in WORDS["listed_organs"] for unit in heads)
    apart = len({unit.name for unit in heads}) == 2 == len(heads)
    return listed and apart and all(unit.kind == "anatomy" for unit in places)


def _words_of_both(
    second: Draft, before: list[TaggedToken]
) -> tuple[list[TaggedToken], list[TaggedToken]]:
    """The words of two findings with one noun: "healed fifth and sixth rib fractures" says healed of both.

    Of "moderate right and small left effusions" each has a word of its own.
    """
    last_place = max((unit.begin for unit in second.places), default=0)
    own = [word for word in second.words if word not in before]
    of_noun = [word for word in own if word.begin > last_place]
    return [*before, *of_noun], own if len(own) > len(of_noun) else [*before, *own]


def _drafts_of(chunk: list[TaggedToken], held: list[TaggedToken]) -> list[Draft]:
    """The findings of a phrase, each with the places and words before it, the last one with those behind."""
    drafts: list[Draft] = []
    places: list[TaggedToken] = []
    words = list(held)
    for unit in chunk:
        if unit.kind in ("anatomy", "place"):
            places.append(unit)
            continue
        if unit.kind != "finding":
            unit.code = _COURSE_OF.get(unit.form, unit.code) if drafts else unit.code
            words.append(unit)
            continue
        if unit.name in WORDS["changing"]:  # "increased effusion" has grown
            for word in words:
                if word.code == "measurement":
                    word.code = _COURSE_OF.get(word.form, word.code)
        if drafts and drafts[-1].is_device != (unit.code == DEVICE):
            device, broken = sorted(
                (drafts[-1].unit, unit), key=lambda one: one.code != DEVICE
            )
            if broken.name == "fracture":  # "the pacemaker lead fracture"
                places, words = (
                    [*drafts[-1].places, *places, device],
                    [*drafts[-1].words, *words],
                )
                unit = broken
                drafts.pop()
        drafts.append(Draft(unit, places, words))
        places, words = [], []
    drafts[-1].places = drafts[-1].places + places
    drafts[-1].words = drafts[-1].words + words
    return drafts
