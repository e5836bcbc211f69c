"""Findings of one study with the same meaning are merged into one survivor (implicit.md section 2).

Nothing that the report says is rewritten. A positive and a negative never meet here: contradictions are left
to `resolve.py`. The easy version, clustering by similarity in chains, let "lower lung" carry a right-sided
finding over to the left; groups here are complete links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.implicit.encoders import Embedder, pair_cosines
from lunguage_assets.implicit.merging.attributes import unite_attributes
from lunguage_assets.implicit.merging.blacklist import Blacklist, BlacklistMarks
from lunguage_assets.implicit.merging.distinctions import NO_COURSE, NO_MARKS, Course, Marks, course, marks
from lunguage_assets.implicit.merging.linearise import linearised
from lunguage_assets.implicit.rows import (
    BARE,
    CLAIM_DECIMALS,
    CLINICAL_ATTRIBUTES,
    PAPER,
    Row,
    attribute_values,
    by_study,
    claim_preference,
    collector_paused,
    column_values,
    read_rows,
    write_rows,
)
from lunguage_assets.implicit.words import united_tokens
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS, FINDING_COLUMNS


@collector_paused()
def deduplicate(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
) -> pd.DataFrame:
    """FINDINGS and FITTED_PROBABILITIES to DEDUPLICATED_FINDINGS.

    Every finding gets its probability; merged rows and history rows are marked. One row per finding, sorted
    by study and report order whatever the order of the input. A tentative finding without a row in
    `probabilities` has no information (p 0.5, interval 0-1, `none`). Survivors have the attributes and
    references of their group united; references to merged rows point to the survivor everywhere in the study.
    Raises `MethodError` when the encoder answers wrongly.

    The mode is decided here and goes with the rows (column `mode`): the later stages cannot use another. In
    mode `paper` the paper's blacklist pairs alone keep rows apart (implicit.md section 6).
    """
    rows = read_rows(findings, FINDING_COLUMNS)
    _assign_beliefs(rows, probabilities)
    _take_part(rows, embedder.identity, settings)
    studies = by_study(rows)
    blocks = [block for study in studies for block in _blocks(study)]
    similar = _similar_pairs(blocks, embedder, _apart(blacklist, settings), settings.merge_threshold)
    for block, pairs in zip(blocks, similar, strict=True):
        for group in complete_link(len(block), pairs):
            _merge(
                [block[number] for number in group],
                {(block[a].finding_id, block[b].finding_id): cosine for a, b, cosine in pairs},
                blacklist,
            )
    for study in studies:
        _move_references(study)
    return write_rows(DEDUPLICATED_FINDINGS, [row for study in studies for row in study])


def compared_phrases(findings: pd.DataFrame, blacklist: Blacklist, settings: ImplicitSettings) -> list[str]:
    """The distinct phrases whose vectors `deduplicate` needs, sorted.

    They are the phrases of FINDINGS that are compared with another phrase.
    """
    rows = read_rows(findings, FINDING_COLUMNS)
    _take_part(rows, "", settings)
    return sorted(
        _comparisons(
            [block for study in by_study(rows) for block in _blocks(study)], _apart(blacklist, settings)
        ).phrases
    )


def _take_part(rows: Iterable[Row], encoder: str, settings: ImplicitSettings) -> None:
    """Note encoder and mode, and exclude history unless it is wanted."""
    for row in rows:
        row.encoder, row.mode = encoder, settings.mode
        if row.section == "hist" and settings.history == "exclude":
            row.disposition = "excluded"


def _apart(blacklist: Blacklist, settings: ImplicitSettings) -> Blacklist:
    return blacklist.of_the_paper() if settings.mode == PAPER else blacklist


def _assign_beliefs(rows: Iterable[Row], probabilities: pd.DataFrame) -> None:
    """Probabilities of rows: definite findings 1 or 0, tentative ones as fitted (explicit.md section 6)."""
    names = ("finding_id", "p", "p_low", "p_high", "p_source")
    fitted = {
        values[0]: values[1:]
        for values in zip(*(column_values(probabilities, name) for name in names), strict=True)
    }
    for row in rows:
        if row.status.startswith("d"):
            row.prob = row.p_low = row.p_high = 1.0 if row.positive else 0.0
            row.p_source = "definitive"
        else:
            row.prob, row.p_low, row.p_high, row.p_source = fitted.get(
                row.finding_id, (0.5, 0.0, 1.0, "none")
            )
        row.support = round(row.prob if row.positive else 1.0 - row.prob, CLAIM_DECIMALS)


def _blocks(study: Sequence[Row]) -> list[list[Row]]:
    """Groups of rows of one study with equal polarity and currency, in report order."""
    blocks: dict[tuple[bool, str], list[Row]] = {}
    for row in study:
        if row.disposition == "kept":
            blocks.setdefault((row.positive, row.currency), []).append(row)
    return [block for block in blocks.values() if len(block) > 1]


@dataclass(frozen=True, slots=True)
class _Said:
    """The properties of a row that decide whether it may merge, whatever the similarity."""

    phrase: int
    listed: BlacklistMarks
    values: Marks
    course: Course

    def separated(self, other: _Said, blacklist: Blacklist) -> bool:
        """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
        return (
            self.values.differ(other.values)
            or self.course.differs(other.course)
            or blacklist.separates(self.listed, other.listed)
        )


Pair = tuple[int, int, float]
_Wording = tuple[object, ...]
_WORDING = attribute_values(("ent", "name", "location", "location_parts", "placement", *CLINICAL_ATTRIBUTES))
"""All fields that `_Said` follows from.

Many rows say the same in the same words.
"""


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """The questions to an encoder: the distinct phrases that are compared at all, and their pairs.

    `asked` has per block the rows that nothing but their similarity keeps apart: positions of two rows, in
    report order, and the number of their pair of phrases, -1 when both say the same phrase.
    """

    phrases: list[str]
    first: list[int]
    second: list[int]
    asked: list[list[tuple[int, int, int]]]


def _comparisons(blocks: Sequence[Sequence[Row]], blacklist: Blacklist) -> _Comparisons:
    """The comparisons within blocks; every pair of phrases is asked once for all blocks."""
    known: dict[_Wording, _Said] = {}
    phrases: dict[str, int] = {}
    pairs: dict[tuple[int, int], int] = {}
    asked: list[list[tuple[int, int, int]]] = []
    for block in blocks:
        said = [_said(row, phrases, known, blacklist) for row in block]
        wanted = []
        for b in range(1, len(said)):
            other = said[b]
            for a in range(b):
                if not said[a].separated(other, blacklist):
                    x, y = said[a].phrase, other.phrase
                    number = -1 if x == y else pairs.setdefault((x, y) if x < y else (y, x), len(pairs))
                    wanted.append((a, b, number))
        asked.append(wanted)
    compared = sorted({number for pair in pairs for number in pair})
    place = {number: position for position, number in enumerate(compared)}
    spelled = list(phrases)
    return _Comparisons(
        [spelled[number] for number in compared],
        [place[x] for x, _ in pairs],
        [place[y] for _, y in pairs],
        asked,
    )


def _similar_pairs(
    blocks: Sequence[Sequence[Row]], embedder: Embedder, blacklist: Blacklist, threshold: float
) -> list[list[Pair]]:
    """Per block the compatible pairs: positions of two rows, in report order, and their rounded cosine.

    Every distinct phrase is encoded once, and only if it is compared with another one; a phrase is like
    itself whatever the encoder.
    """
    found = _comparisons(blocks, blacklist)
    cosines = [*pair_cosines(embedder, found.phrases, found.first, found.second).tolist(), 1.0]
    return [
        [(a, b, cosines[number]) for a, b, number in wanted if cosines[number] >= threshold]
        for wanted in found.asked
    ]


def _said(row: Row, phrases: dict[str, int], known: dict[_Wording, _Said], blacklist: Blacklist) -> _Said:
    wording = _WORDING(row)
    said = known.get(wording)
    if said is None:
        phrase = linearised(row)
        # the canonical forms say what an abbreviation hides: RUL is right and upper
        listed = blacklist.marks((phrase, row.name, ", ".join(row.location_parts)), (phrase, row.name))
        # two tips of a tube, 4 and 6 cm above the carina, are told apart by their placement
        values = marks(f"{phrase}, {row.placement}" if row.placement else phrase)
        changes = course(row.improved, row.no_change, row.worsened)
        if row.mode == PAPER:
            values, changes = NO_MARKS, NO_COURSE
        number = phrases.setdefault(phrase, len(phrases))
        said = known[wording] = _Said(number, listed, values, changes)
    return said


def complete_link(size: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """Groups of two or more of `size` items, all compatible with each other, sorted.

    Pairs are taken by cosine descending, then by position; two groups unite only when every cross pair is
    listed.
    """
    group_of: dict[int, list[int]] = {number: [number] for number in range(size)}
    compatible = {(a, b) for a, b, _ in pairs}
    for a, b, _ in sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])):
        one, other = group_of[a], group_of[b]
        if one is other or any((min(x, y), max(x, y)) not in compatible for x in one for y in other):
            continue
        one.extend(other)
        for member in other:
            group_of[member] = one
    distinct = {id(group): sorted(group) for group in group_of.values() if len(group) > 1}
    return sorted(distinct.values())


def _merge(group: Sequence[Row], cosines: dict[tuple[str, str], float], blacklist: Blacklist) -> None:
    """Merge a group into its survivor, which takes over the others' references, and the attributes that its
    own do not exclude.

    It keeps its wording, place, sentence and probability.
    """
    survivor = min(group, key=claim_preference)
    others = [row for row in group if row is not survivor]
    for row in others:
        unite_attributes(survivor, row, blacklist.separates_phrases)
    survivor.evidence = united_tokens(survivor.evidence, *(row.evidence for row in others))
    survivor.associate = united_tokens(survivor.associate, *(row.associate for row in others))
    survivor.merged_ids = tuple(sorted(row.finding_id for row in others))
    for row in others:
        row.disposition = "merged"
        row.merged_into = survivor.finding_id
        row.merge_similarity = min(
            1.0,
            max(
                cosines[pair]
                for member in group
                for pair in ((row.finding_id, member.finding_id), (member.finding_id, row.finding_id))
                if pair in cosines
            ),
        )


def _move_references(study: Sequence[Row]) -> None:
    """Point references to merged rows to their survivor, without self-references and repeats."""
    survivor_of = {row.finding_id: row.merged_into for row in study if row.merged_into is not None}
    for row in study:
        row.evidence = moved(row.evidence, survivor_of, row.finding_id)
        row.associate = moved(row.associate, survivor_of, row.finding_id)


def moved(references: tuple[str, ...], survivor_of: dict[str, str], own: str) -> tuple[str, ...]:
    """References with merged rows replaced by survivors, token by token; bare names stay as they are."""
    if not references:
        return ()
    found = (
        token if token.startswith(BARE) else survivor_of.get(token, token)
        for token in references
        if token != own
    )
    return tuple(token for token in dict.fromkeys(found) if token != own)
