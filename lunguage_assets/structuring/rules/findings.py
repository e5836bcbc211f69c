"""The findings of one phrase, each with the locations and words that are its own."""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.units import DEVICE, TaggedToken
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.drafts import MentionDraft, read_as_course


def drafts_of_findings(
    tokens: list[TaggedToken], pending: list[TaggedToken]
) -> list[MentionDraft]:
    """Draft the findings of a phrase that names one at least.

    Places and words stand before their finding; those behind the last one are its own.

    Args:
        tokens: words of the phrase.
        pending: words before the phrase that describe its first finding.
    """
    drafts: list[MentionDraft] = []
    locations: list[TaggedToken] = []
    modifiers = list(pending)
    for token in tokens:
        if token.kind in ("anatomy", "place"):
            locations.append(token)
        elif token.kind == "finding":
            _read_growth(token, modifiers)
            draft = MentionDraft(token, locations, modifiers)
            if drafts and _is_fracture_of_device(drafts[-1], draft):
                draft = _fracture_of_device(drafts.pop(), draft)
            drafts.append(draft)
            locations = []
            modifiers = []
        else:
            if drafts:
                read_as_course(token)
            modifiers.append(token)
    last = drafts[-1]
    last.locations = last.locations + locations
    last.modifiers = last.modifiers + modifiers
    return drafts


def _read_growth(finding: TaggedToken, modifiers: list[TaggedToken]) -> None:
    """ "Increased effusion" has grown; "increased opacity" is denser."""
    if finding.name not in WORDS["changing"]:
        return
    for word in modifiers:
        if word.code == "measurement":
            read_as_course(word)


def _is_fracture_of_device(first: MentionDraft, second: MentionDraft) -> bool:
    """ "The pacemaker lead fracture"; which of the two stands first does not matter."""
    if first.is_device == second.is_device:
        return False
    broken = second if first.is_device else first
    return broken.head.name == "fracture"


def _fracture_of_device(first: MentionDraft, second: MentionDraft) -> MentionDraft:
    """Make the device the location of its fracture."""
    is_device_first = first.is_device
    device = first.head if is_device_first else second.head
    fracture = second.head if is_device_first else first.head
    locations = [*first.locations, *second.locations, device]
    return MentionDraft(fracture, locations, [*first.modifiers, *second.modifiers])


class WordsOfTwo(NamedTuple):
    """Words of two findings that have one noun."""

    first: list[TaggedToken]
    second: list[TaggedToken]


def words_of_two(second: MentionDraft, before: list[TaggedToken]) -> WordsOfTwo:
    """Tell which words describe which of two findings with one noun.

    "Healed fifth and sixth rib fractures" says healed of both. Of "moderate right and
    small left effusions" each has a word of its own.

    Args:
        second: the finding that has the noun.
        before: words before the first.
    """
    end_of_locations = max((location.begin for location in second.locations), default=0)
    own = [word for word in second.modifiers if word not in before]
    of_noun = [word for word in own if word.begin > end_of_locations]
    has_own_word = len(own) > len(of_noun)
    first = [*before, *of_noun]
    return WordsOfTwo(first, own if has_own_word else [*before, *own])


def may_be_explained(finding: TaggedToken) -> bool:
    """Whether words behind a finding may say what it is: no device, no complaint."""
    is_sign = finding.code not in ("PATIENT INFO.", DEVICE)
    # "A skin fold simulates a pneumothorax": what is harmless looks like something.
    return is_sign or finding.name in WORDS["harmless"]
