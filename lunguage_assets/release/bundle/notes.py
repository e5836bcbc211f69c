"""What a version of a release says of itself in words: README, which is also a card of Hugging Face, licence,
and what each part may be used for; the words are in `resources/release/`.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from lunguage_assets.data_files import page_template
from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.release.bundle.material import Material
from lunguage_assets.release.bundle.provenance import Origin

_TEMPLATES = {
    "README.md": "README.md.j2",
    "LICENSE": "LICENSE.j2",
    "open/USE.md": "open_use.md.j2",
    "restricted/USE.md": "restricted_use.md.j2",
}
_CONFIGURATIONS: Mapping[str, str] = {
    "findings": "Lunguage_plus_plus.parquet",
    "labels": "labels.parquet",
    "studies": "studies.parquet",
}
"""Name of a data set -> its file in the restricted part, all of one format, since Hugging Face's loader takes
one for all.
"""


def notes(material: Material) -> dict[str, str]:
    """The texts of a version by their paths in it; none names the version."""
    provenance = material.provenance
    apart = float(material.ranking["reading_sd"].iloc[0])  # how wide the intervals of p are
    values = {
        "origin": material.origin,
        "part": material.part,
        "card": card_header(material.origin),
        "software": " ".join(provenance["software"][key] for key in ("name", "version")),
        "batches": [key for key, batch in provenance["batches"].items() if batch["included"]],
        "ranker": provenance["ranker"],
        "members": provenance["members"],
        "is_rule_based": not material.language_models,
        "structurer": provenance["structurer"],
        "apart": apart,
        "is_measured": material.has_own_ruler and len(provenance["members"]) > 1,
        "is_most": apart >= BETA - 0.05,
    }
    return {path: page_template("release", template).render(values) for path, template in _TEMPLATES.items()}


def card_header(origin: Origin) -> str:
    """The YAML block with which Hugging Face's cards begin: `datasets.load_dataset(FOLDER)` reads it."""
    licence = (
        {"license": "mit"}
        if origin.is_synthetic
        else {"license": "other", "license_name": "agreement-of-the-corpus", "license_link": "LICENSE"}
    )
    values = {
        "pretty_name": f"Lunguage++ of {origin.corpus.name}",
        **licence,
        "language": ["en"],
        "task_categories": ["text-classification", "tabular-classification"],
        "tags": ["radiology", "chest x-ray", "clinical uncertainty", "medical"],
        "configs": [
            {"config_name": name, "data_files": f"restricted/{file}"}
            | ({"default": True} if name == "findings" else {})
            for name, file in _CONFIGURATIONS.items()
        ],
    }
    return f"---\n{yaml.safe_dump(values, sort_keys=False, allow_unicode=True)}---\n\n"
