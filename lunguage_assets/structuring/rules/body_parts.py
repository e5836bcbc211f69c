"""Parts of the body as subjects: "heart and mediastinum are normal" judges two.

A part waits (`Clause.open_parts`) until something is said of it. What is joined to a
part shares what is said of it, before or behind.
"""

from __future__ import annotations

from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.drafts import MentionDraft
from lunguage_assets.structuring.rules.phrases import Phrase


def take_parts(
    clause: Clause,
    phrase: Phrase,
    locations: list[TaggedToken],
    modifiers: list[TaggedToken],
) -> None:
    """Take one part of the body, or two that lack their "and".

    Args:
        clause: so far; changed in place.
        phrase: that names the part.
        locations: words of its location, the part among them.
        modifiers: words that describe it.
    """
    heads = [location for location in locations if location.kind == "anatomy"]
    if phrase.is_joined and len(locations) > 1:
        # "Mediastinal and hilar lymph nodes".
        locations = [*clause.topic, *locations]
    parts: list[MentionDraft] = []
    # "The cardiac silhouette mediastinal contours are normal" lacks its "and".
    are_listed = all(head.name in WORDS["listed_organs"] for head in heads)
    if len(heads) == 2 and are_listed:
        boundary = locations.index(heads[-1])
        parts.append(MentionDraft.of_part(heads[0], locations[:boundary], modifiers))
        locations = locations[boundary:]
    parts.append(MentionDraft.of_part(heads[-1], locations, modifiers))
    for part in parts:
        _take_part(clause, part, is_joined=phrase.is_joined or part is not parts[0])
    clause.topic = locations
    clause.drafts += parts


def _take_part(clause: Clause, part: MentionDraft, *, is_joined: bool) -> None:
    """Take a part of the body: described by the words before it, or not yet.

    Args:
        clause: so far; changed in place.
        part: to be taken.
        is_joined: whether it is on one list with the part before.
    """
    open_before = clause.open_parts if is_joined else []
    described_before = clause.described_parts if is_joined else []
    if part.is_described:
        # "Heart and normal mediastinum": the heart is normal, too.
        for open_part in open_before:
            open_part.describe(part.modifiers)
        clause.described_parts = [*described_before, part]
        clause.open_parts = []
    elif described_before:
        # "Normal heart size and mediastinum".
        part.modifiers = described_before[-1].modifiers
        clause.open_parts = [part]
    else:
        clause.open_parts = [*open_before, part]
        clause.described_parts = []
    clause.findings = []
    clause.role = "part"
