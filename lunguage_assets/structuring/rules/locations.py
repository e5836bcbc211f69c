"""Places that share a word: a side, a noun, or an "and" that was left out."""

from __future__ import annotations

from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.assertion.word_files import WORDS


def with_side_before(
    locations: list[TaggedToken], before: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the side of the location before: "the right upper and lower lobes".

    Args:
        locations: of the second location, which is joined to the first.
        before: words of the first.
    """
    names_side = any(is_side(location) for location in locations)
    if names_side or not _lies_in_a_side(locations[0]):
        return locations
    sides = [
        location
        for location in before
        if is_side(location) and location.code == locations[0].code
    ]
    return [*sides, *locations]


def with_noun_behind(
    locations: list[TaggedToken], behind: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the noun of the location behind: "the right mid and upper lung".

    Args:
        locations: of the first location.
        behind: words of the second, which is joined to the first.
    """
    noun = behind[-1].noun if behind else None
    if not locations or noun is None or locations[-1].noun is not None:
        return locations
    if _lies_in_a_side(locations[-1]) or is_side(locations[-1]):
        return [*locations, noun]
    return locations


def lacks_joint(locations: list[TaggedToken], parts: list[TaggedToken]) -> bool:
    """ "The cardiac silhouette mediastinal contours are normal": an "and" was left out.

    Args:
        locations: words of the phrase that are locations.
        parts: the parts of the body among them.
    """
    are_two = len(parts) == 2 and parts[0].name != parts[1].name
    are_listed = all(part.name in WORDS["listed_organs"] for part in parts)
    return (
        are_two
        and are_listed
        and all(location.kind == "anatomy" for location in locations)
    )


def are_sides(locations: list[TaggedToken]) -> bool:
    """Whether all of these are a side, without a part of it."""
    return all(is_side(location) for location in locations)


def is_side(location: TaggedToken) -> bool:
    """Whether it is "right", "left" or "bilateral"."""
    return location.form in WORDS["sides"]


def _lies_in_a_side(location: TaggedToken) -> bool:
    """ "Lower lobe", "5th rib"."""
    return location.form in WORDS["within_a_side"] or location.form[0].isdigit()
