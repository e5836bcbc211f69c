"""An EXPERT_AGREEMENT frame as a square of numbers: who agrees how far with the ranking, each judge and each
other (explicit.md section 4).
"""

from __future__ import annotations

import pandas as pd

from lunguage_assets.explicit.analysis.experts.experts import Experts

OCCUPATION = "occupation: "
"""How the group of an occupation begins."""
FEWEST = 2
"""Experts of a group that may be shown beside other groups: of one, it is a person's."""


def by_group(agreement: pd.DataFrame) -> pd.DataFrame:
    """Mean agreement of groups of experts, a line per group, a column for the ranking and each judge."""
    averages = agreement[
        (agreement["first"] == "") & agreement["measure"].isin(["with ranking", "with judge"])
    ]
    shown = averages[(averages["group"] == "all") | (averages["experts"] >= FEWEST)]
    titles = [
        f"{group.removeprefix(OCCUPATION)} ({count})"
        for group, count in zip(shown["group"].tolist(), shown["experts"].tolist(), strict=True)
    ]
    return _square(shown.assign(line=pd.Series(titles, index=shown.index, dtype="object")))


def by_expert(agreement: pd.DataFrame, experts: Experts) -> pd.DataFrame:
    """Agreement of every single expert, experts of an occupation one after the other; with each other too."""
    single = agreement[agreement["first"] != ""]
    single = single[single["measure"].isin(["with ranking", "with judge", "with expert"])]
    both = single[single["measure"] == "with expert"]
    turned = both.assign(first=both["second"], second=both["first"])
    names = sorted({*single["first"]}, key=lambda name: (experts.occupation(name), name))
    titles = {name: f"{experts.occupation(name)} ({name})".lstrip() for name in names}
    cells = pd.concat([single, turned], ignore_index=True)
    cells = cells.assign(
        line=cells["first"].map(titles).astype("object"),
        second=cells["second"].where(cells["measure"] != "with expert", cells["second"].map(titles)),
    )
    return _square(cells).reindex(index=list(titles.values()))


def _square(cells: pd.DataFrame) -> pd.DataFrame:
    """Lines and columns as they come, the ranking first; NaN where nothing was compared."""
    order = {"with ranking": 0, "with judge": 1, "with expert": 2}
    ordered = cells.assign(place=cells["measure"].map(order)).sort_values("place", kind="stable")
    columns = list(dict.fromkeys(ordered["second"].tolist()))
    lines = list(dict.fromkeys(cells["line"].tolist()))
    found = ordered.pivot_table(index="line", columns="second", values="value", aggfunc="first")
    return found.reindex(index=lines, columns=columns).astype("float64")
