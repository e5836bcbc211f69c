"""The offline structurer: sentences to accounts and rows, by rules alone (method.md section 7)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from lunguage_assets.assertion.axes import axes_of, has_axes
from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.units import LIMITATION, Unit, first_kind
from lunguage_assets.assertion.vocabulary import ELSEWHERE, Sense
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.caches import remembered
from lunguage_assets.judges.configuration import RULES
from lunguage_assets.structuring.contract import (
    Account,
    CueUse,
    Mention,
    SectionCode,
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
)
from lunguage_assets.structuring.rules import back
from lunguage_assets.structuring.rules.drafts import Draft, span_of
from lunguage_assets.structuring.rules.judgements import divide_by_axis, is_wrong
from lunguage_assets.structuring.rules.lexicon import VERSION, build_lexicon
from lunguage_assets.structuring.rules.phrases import Phrases
from lunguage_assets.structuring.text.languages import OTHER_LANGUAGE, foreign_sentences
from lunguage_assets.tables import ATTRIBUTES

_NORMAL_CHEST = Sense("anatomy", "chest", "normal")
_SIGNS = re.compile("[^a-z0-9]+")
_EARLIER = re.compile(r".*\b(?:prior|previous|recent)\s+", re.IGNORECASE)
"""What stands before the examination itself in "on the prior CT"."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_SIDE = re.compile(r"\b(?:right|left|bilateral|both|rt|lt)", re.IGNORECASE)
_BESIDE = re.compile(r"[\s-]*(?:\bthe\s+)?")
_MARK = re.compile(r"x{3,}|_{2,}", re.IGNORECASE)
_LIMITED = Sense("finding", "limited examination", "PF")
_ELSEWHERE = {
    "pulmonary edema": "soft tissue edema",
    "pleural effusion": "joint effusion",
}


_OTHER_LANGUAGE = back.SentenceRead("unreadable", OTHER_LANGUAGE)


def identity_of(content: str) -> str:
    """Identity of the offline structurer with words of this hash (`lexicon.content_hash`)."""
    return f"{RULES}/{hashlib.blake2b(f'{VERSION}/{content}'.encode(), digest_size=8).hexdigest()}"


class RuleStructurer:
    """Deterministic and free; sentences are remembered, because real reports repeat them.

    Args:
        terms: a delivered vocabulary (`tables.TERMS`), which widens the bundled words.
        own_cues: a home's cue file, which does so, too.

    Raises:
        ConfigurationError: a word file or cue file cannot be read.
    """

    key = RULES

    def __init__(
        self, terms: pd.DataFrame | None = None, own_cues: Path | None = None
    ) -> None:
        self._lexicon, content = build_lexicon(terms, own_cues)
        self.identity = identity_of(content)
        self.read_sentence = remembered(self._read_sentence)

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """One answer per report, in the reports' order."""
        answers = []
        for report in reports:
            foreign = foreign_sentences([one.text for one in report.sentences])
            read = [
                _OTHER_LANGUAGE
                if is_foreign and one.section != "other"
                else self._read(one)
                for one, is_foreign in zip(report.sentences, foreign, strict=True)
            ]
            answers.append(
                StructuredReport(report.study_id, *back.connected(report, read))
            )
        return answers

    def _read(self, sentence: Sentence) -> back.SentenceRead:
        return self.read_sentence(sentence.text, sentence.section)

    def _read_sentence(self, text: str, section: SectionCode) -> back.SentenceRead:
        """What a sentence says, and what of the findings before it. Never raises on any text."""
        if section == "other":
            return back.SentenceRead("nothing stated", "section")
        if len(text) > 4000:  # no sentence, and the rules would take long over it
            return back.SentenceRead("unreadable", "length")
        words = len(_LETTERS.findall(_MARK.sub(" ", text)))
        if not words:
            return back.SentenceRead("unreadable", "no words")
        units = tag(text, self._lexicon, section)
        # from eight words on, a sentence without one known word is in another language
        if (
            words >= 8
            and sum(u.kind != "other" for u in units if u.begin < u.end) <= words // 8
        ):
            return back.SentenceRead("unreadable", "language")
        if section != "hist":
            back.point_back(units)
        mark_assertions(units, text, self._lexicon)
        found = divide_by_axis(Phrases(units).drafts, text)
        named = (draft for draft in found if draft.unit.sense not in back.POINTERS)
        drafts = [draft for draft in named if not _said_otherwise(draft, found)]
        pointer = next(
            (draft for draft in found if draft.unit.sense in back.POINTERS), None
        )
        if not drafts and (pointer is None or not pointer.words):
            drafts = _conclusion(units, section) or _limits(units)
        before = _of_before(drafts, pointer, units, text)
        if drafts:
            return back.SentenceRead("findings", "", _mentions(drafts, text), before)
        reason = next((unit.aside for unit in units if unit.aside), "")
        account: Account = "not about the patient now" if reason else "nothing stated"
        return back.SentenceRead(account, reason or "no finding named", back=before)


def rule_structurer(
    terms: pd.DataFrame | None, own_cues: Path | None = None
) -> tuple[RuleStructurer]:
    """The offline structurer with a delivered vocabulary and a home's cues, for `parallel.map_studies`."""
    return (RuleStructurer(terms, own_cues),)


def _of_before(
    drafts: list[Draft], pointer: Draft | None, units: list[Unit], text: str
) -> back.Back | None:
    """What the sentence says of the findings before it."""
    again = back.named_again(units)
    if pointer is None and not again:
        return None
    rows = [draft for draft, _ in _rows(drafts)]
    said = None
    if pointer is not None:
        meant = next(
            (draft.unit.begin for draft in drafts if pointer in draft.links), 0
        )
        hedges = (
            u.begin for u in units if u.begin < meant and u.kind in ("hedged", "link")
        )
        meaning = max(hedges, default=len(text))
        pointer.words = [word for word in pointer.words if word.begin < meaning]
        places = [unit for unit in pointer.all_places if unit.begin < meaning]
        if first_kind(units, ("examined", "examination", "hedged", "link")):
            places = []
        said = _mention(pointer, places, text)
    explains = tuple(
        number for number, draft in enumerate(rows) if pointer in draft.links
    )
    named = tuple(number for number, draft in enumerate(rows) if draft.unit in again)
    return back.Back(explains, named, said)


def _rows(drafts: list[Draft]) -> list[tuple[Draft, list[Unit]]]:
    """A row for each group of places of a draft."""
    return [
        (draft, [*draft.places, *group])
        for draft in drafts
        for group in draft.groups or [[]]
    ]


def _limits(units: list[Unit]) -> list[Draft]:
    """A sentence that only says what limits the examination."""
    said = [unit for unit in units if not unit.aside]
    limits = [
        unit
        for unit in said
        if unit.code == LIMITATION.code and unit.form not in WORDS["hidden"]
    ]
    if not limits:
        return []
    words = [Unit(LIMITATION, unit.form, unit.begin, unit.end) for unit in limits]
    limits[0].become(_LIMITED)
    return [
        Draft(
            limits[0],
            [unit for unit in said if unit.kind in ("anatomy", "place")],
            words,
        )
    ]


def _conclusion(units: list[Unit], section: SectionCode) -> list[Draft]:
    """ "The examination is normal", and, as an impression, the word alone: the chest is normal."""
    named = any(unit.kind == "examined" for unit in units)
    said = [
        unit
        for unit in units
        if unit.kind not in ("examined", "break", "copula", "comma")
    ]
    said = [
        unit for unit in said if unit.code != "no_change" and not unit.form.isdigit()
    ]
    normal = all(
        _is_negative(u) or (u.kind, u.code) == ("normal", "measurement") for u in said
    )
    if not said or not normal or not (named or section == "impr"):
        return []
    said[0].become(_NORMAL_CHEST)
    return [Draft(said[0], [], [])]


def _is_negative(unit: Unit) -> bool:
    """ "Impression: negative" denies nothing that is named."""
    return unit.is_cue("negated.negative")


def _said_otherwise(draft: Draft, others: list[Draft]) -> bool:
    """Whether a denied size only restricts what is stated: "small effusion, but no large effusion"."""
    sized = bool(draft.unit.negation) and any(
        word.code == "measurement" for word in draft.words
    )
    same = (
        one
        for one in others
        if one.unit.sense == draft.unit.sense and not one.unit.negation
    )
    return sized and any({*draft.places} <= {*other.all_places} for other in same)


def _mentions(drafts: list[Draft], text: str) -> tuple[Mention, ...]:
    """The rows of a sentence; the first one of a draft stands for it in references."""
    rows = _rows(drafts)
    first = {draft: number for number, (draft, _) in reversed([*enumerate(rows)])}
    supports: dict[Draft, list[int]] = {draft: [] for draft in drafts}
    for draft in drafts:
        draft.links = [
            one for one in draft.links if one in first and not one.unit.negation
        ]
        draft.links = draft.links if _is_caused(draft.unit) else []
        for sign in draft.links:
            supports[sign].append(first[draft])
    mentions = []
    for number, (draft, places) in enumerate(rows):
        evidence = tuple(first[sign] for sign in draft.links)
        associate = tuple(supports[draft]) if first[draft] == number else ()
        found = _mention(draft, places, text)
        mentions.append(replace(found, evidence=evidence, associate=associate))
    return tuple(mentions)


def _is_caused(unit: Unit) -> bool:
    """Whether something supports it: what is denied has no support, a mimic has its cause."""
    return not unit.negation or any(
        edge.cue.startswith("mimic.") for edge in unit.edges
    )


def _mention(draft: Draft, places: list[Unit], text: str) -> Mention:
    unit = draft.unit
    attributes: dict[str, list[Span]] = {}
    for word in sorted(draft.words, key=lambda w: w.begin):
        if word.code and _is_told(draft, word, text):
            earlier = (
                _EARLIER.match(text, word.begin, word.end)
                if word.code == "other_source"
                else None
            )
            span = span_of(word) if earlier is None else Span(earlier.end(), word.end)
            attributes.setdefault(word.code, []).append(span)
    if unit.past is not None:
        gone = "placement" if draft.is_device else "improved"
        column = gone if unit.past.kind == "ended" else "past_hx"
        attributes.setdefault(column, []).append(span_of(unit.past))
    ordered = {
        column: tuple(attributes[column])
        for column in ATTRIBUTES
        if column in attributes
    }
    category = unit.code if draft.is_finding else "PF"
    coded = (_name(unit, places), category, _status(draft))
    cues = _cues(draft, text)
    return Mention(0, span_of(unit), *coded, _joined(places, text), ordered, cues=cues)


def _cues(draft: Draft, text: str) -> tuple[CueUse, ...]:
    """The cues that reached a finding or part of the body, and the words that judge the part."""
    judging = (
        []
        if draft.is_finding
        else [w for w in draft.words if w.kind in ("normal", "abnormal")]
    )
    edges = [edge for unit in (draft.unit, *judging) for edge in unit.edges]
    uses = [CueUse(edge.cue, Span(edge.begin, edge.end)) for edge in edges]
    # Words that judge are in no file of cues: "the lungs are clear" is decided by `normal.clear`.
    # Of "not normal" the denial decides.
    uses += [
        _judging_cue(word.kind, word, text) for word in judging if not word.negation
    ]
    if draft.is_compared and not judging:
        uses += [
            _judging_cue("unchanged", word, text)
            for word in draft.words
            if word.code == "no_change"
        ]
    return tuple(dict.fromkeys(uses))


def _judging_cue(kind: str, word: Unit, text: str) -> CueUse:
    """The cue of a word that judges: `normal.clear`, `abnormal.enlarged`, `unchanged.stable`."""
    words = text[word.begin : word.end].lower()
    return CueUse(f"{kind}.{_SIGNS.sub('_', words).strip('_')}", span_of(word))


def _name(unit: Unit, places: list[Unit]) -> str:
    """The canonical name; that of the chest is none where a chest film does not reach."""
    name = unit.name
    if unit.past is not None and unit.form in WORDS["of_any_organ"]:
        return "cancer"
    return (
        _ELSEWHERE.get(name, name)
        if any(place.name == ELSEWHERE for place in places)
        else name
    )


def _is_told(draft: Draft, word: Unit, text: str) -> bool:
    """Whether a word is an attribute: no "normal" beside "enlarged", no distance of a finding."""
    if word.code == "placement":
        return draft.is_device
    if word.kind != "normal":
        return True
    if draft.is_finding:
        return word.form in WORDS["of_a_fracture"]
    if _status(draft)[1] == "p":
        return False
    if draft.unit.name in WORDS["sized"]:
        return True
    words = text[word.begin : word.end]
    if not has_axes(draft.unit.name) or not axes_of(words):
        return False
    # "Midline" says along which axis it is normal; "clear" does so beside another axis alone.
    is_of_whole = not WORDS["as_a_whole"].isdisjoint(
        words.lower().replace("-", " ").split()
    )
    return draft.is_divided or not is_of_whole


def _status(draft: Draft) -> str:
    unit = draft.unit
    said = {word.kind for word in draft.words} & {"normal", "abnormal"}
    is_normal = (
        unit.name in WORDS["structures"] and not unit.negation and said == {"normal"}
    )
    if draft.is_finding and not is_normal:
        if unit.negation:
            return ("t" if unit.negation == "doubtful" or unit.is_hedged else "d") + "n"
        return "tp" if unit.is_hedged else "dp"
    judgements = [w for w in draft.words if w.kind in ("normal", "abnormal")]
    wrong = [w for w in judgements if is_wrong(w)]
    decisive = wrong or judgements
    worse = any(w.code == "worsened" for w in draft.words)
    certainty = (
        "t" if any(w.is_hedged or w.negation == "doubtful" for w in decisive) else "d"
    )
    return certainty + ("p" if wrong or (worse and not decisive) else "n")


def _joined(places: list[Unit], text: str) -> tuple[Span, ...]:
    """Places as values, sides first, neighbours as one: "right" + "upper lobe" is "right upper lobe"."""
    spans: list[Span] = []
    for unit in sorted(set(places), key=lambda known: known.begin):
        if spans and _BESIDE.fullmatch(text, spans[-1].end, unit.begin):
            spans[-1] = Span(spans[-1].begin, unit.end)
        else:
            spans.append(span_of(unit))
    return tuple(sorted(spans, key=lambda span: _SIDE.search(span.of(text)) is None))
