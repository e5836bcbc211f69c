"""Reading `evidence` and `associate` cells and resolving them to rows of the same study (implicit.md section 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

BARE = "~"
_NUMBER = re.compile(r"idx\s*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """A row that can be referred to."""

    finding_id: str
    section: str
    ent_idx: int
    names: frozenset[str]
    """Lower-case names it goes by: as worded and in canonical form."""


def parse_references(cell: str) -> list[tuple[str, int | None]]:
    """The pairs of a flat list `name, idxN, name, idxN`; a name may contain commas; a name without a number has None.

    A run of several names before a number is one name with commas only when it is followed by its number; names at the end of the
    list have none and count one by one.
    """
    pairs: list[tuple[str, int | None]] = []
    pending: list[str] = []
    for token in (part.strip() for part in cell.split(",")):
        if not token:
            continue
        number = _NUMBER.fullmatch(token)
        if number is None:
            pending.append(token)
        elif pending:
            pairs.append((", ".join(pending), int(number.group(1))))
            pending = []
    return pairs + [(name, None) for name in pending]


class StudyReferences:
    """Resolution of references inside one study."""

    def __init__(self, targets: Iterable[Target], canonical: Callable[[str], str]) -> None:
        self._targets = list(targets)
        self._canonical = canonical
        self._by_name: dict[str, list[Target]] = {}
        for target in self._targets:
            for name in target.names:
                self._by_name.setdefault(name, []).append(target)

    def resolve(self, pair: tuple[str, int | None], section: str) -> list[str]:
        """Finding ids or bare tokens that a pair stands for.

        Same section, number and name; else a unique match of number and name in another section; else a unique row of that name in
        the study; else bare. A name with commas that fits nothing is taken apart: only its last part belongs to the number.
        """
        name, number = pair
        found = self._find(name, number, section)
        if found is None and number is not None and ", " in name:
            *bare, last = name.split(", ")
            tokens = [token for part in bare for token in self.resolve((part, None), section)]
            return tokens + self.resolve((last, number), section)
        return [found if found is not None else BARE + name]

    def _find(self, name: str, number: int | None, section: str) -> str | None:
        folded = " ".join(name.lower().split())
        candidates = {target.finding_id: target for key in {folded, self._canonical(folded)} for target in self._by_name.get(key, ())}
        if number is not None:
            numbered = [target for target in candidates.values() if target.ent_idx == number]
            for group in ([t for t in numbered if t.section == section], [t for t in numbered if t.section != section]):
                if len(group) == 1:
                    return group[0].finding_id
        return next(iter(candidates)) if len(candidates) == 1 else None
