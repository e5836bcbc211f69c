"""What a version of a release says of itself in words: README, licence, and what each part may be used for;
the words are in `resources/release/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lunguage_assets.data_files import page_template
from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.release.bundle.cards import card_header
from lunguage_assets.release.bundle.material import Material

_TEMPLATES = {
    "README.md": "README.md.j2",
    "LICENSE": "LICENSE.j2",
    "open/USE.md": "open_use.md.j2",
    "restricted/USE.md": "restricted_use.md.j2",
}


def notes(version: str, against: Mapping[str, Any] | None, material: Material) -> dict[str, str]:
    """The texts of a version by their paths in it.

    Args:
        version: its name, and the beginning of what stands for its content.
        against: the version before and the rows that changed; None for the first one.
        material: what it was made from.
    """
    provenance = material.provenance
    apart = float(material.ranking["reading_sd"].iloc[0])  # how wide the intervals of p are
    values = {
        "version": version,
        "against": against,
        "origin": material.origin,
        "disclosure": material.disclosure,
        "card": card_header(material.origin),
        "software": " ".join(provenance["software"][key] for key in ("name", "version")),
        "batches": [key for key, batch in provenance["batches"].items() if batch["included"]],
        "ranker": provenance["ranker"],
        "members": provenance["members"],
        "is_rule_based": not any(
            isinstance(bound, Mapping) and "model" in bound for bound in provenance["judges"].values()
        ),
        "structurer": provenance["structurer"],
        "apart": apart,
        "is_measured": material.has_own_ruler and len(provenance["members"]) > 1,
        "is_most": apart >= BETA - 0.05,
    }
    return {path: page_template("release", template).render(values) for path, template in _TEMPLATES.items()}
