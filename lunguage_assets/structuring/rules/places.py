"""Places that share a word: a side, a noun, or an "and" that was left out."""

from __future__ import annotations

from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.assertion.word_files import WORDS


def with_side_before(
    places: list[TaggedToken], before: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the side of the place before: "the right upper and lower lobes".

    Args:
        places: of the second place, which is joined to the first.
        before: words of the first.
    """
    names_side = any(is_side(place) for place in places)
    if names_side or not _lies_in_a_side(places[0]):
        return places
    sides = [
        place for place in before if is_side(place) and place.code == places[0].code
    ]
    return [*sides, *places]


def with_noun_behind(
    places: list[TaggedToken], behind: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the noun of the place behind: "the right mid and upper lung".

    Args:
        places: of the first place.
        behind: words of the second, which is joined to the first.
    """
    noun = behind[-1].noun if behind else None
    if not places or noun is None or places[-1].noun is not None:
        return places
    if _lies_in_a_side(places[-1]) or is_side(places[-1]):
        return [*places, noun]
    return places


def lacks_joint(places: list[TaggedToken], parts: list[TaggedToken]) -> bool:
    """ "The cardiac silhouette mediastinal contours are normal": an "and" was left out.

    Args:
        places: words of the phrase that are places.
        parts: the parts of the body among them.
    """
    are_two = len(parts) == 2 and parts[0].name != parts[1].name
    are_listed = all(part.name in WORDS["listed_organs"] for part in parts)
    return are_two and are_listed and all(place.kind == "anatomy" for place in places)


def are_sides(places: list[TaggedToken]) -> bool:
    """Whether all of these are a side, without a part of it."""
    return all(is_side(place) for place in places)


def is_side(place: TaggedToken) -> bool:
    """Whether it is "right", "left" or "bilateral"."""
    return place.form in WORDS["sides"]


def _lies_in_a_side(place: TaggedToken) -> bool:
    """ "Lower lobe", "5th rib"."""
    return place.form in WORDS["within_a_side"] or place.form[0].isdigit()
