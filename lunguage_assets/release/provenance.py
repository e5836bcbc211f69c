"""Where a release comes from: everything that decides its content, by name, version and hash.

No time, no machine, no path of a person: the same inputs give the same bytes. What of it differs between two
releases is why they differ.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.special import logit

from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.fit.anchors import AnchorSet, chosen_anchors
from lunguage_assets.explicit.fit.readers import ReaderSpread
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.judge_config import LLMJudgeConfig, bound_to
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import Settings, departures
from lunguage_assets.structuring.model.structurer import structurer_identity
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Batch, Home
from lunguage_assets.workspace.versions import file_digest

DISTRIBUTION = "lunguage-assets"
_RESOURCES = (
    *("pathways.yaml", "blacklist.yaml", "labels.yaml"),
    *("published_ranking.csv", "published_scales.toml", "people/people_numbers.csv"),
)
_SPREAD_SHOWN_AT = (0.1, 0.3, 0.5, 0.7, 0.9)
"""p at which provenance states how far readers differ."""
_NOT_DECIDING = {
    "explicit": {"fit_log"},
    "implicit": {"encoder_device", "encoder_batch_size"},
}
_PAIR = ("published", "used")
_OWN_PATH = re.compile(r"^(/|\./|\.\./|~|[A-Za-z]:\\)")


@dataclass(frozen=True)
class Origin:
    """Everything a release was made with besides its tables. `files` say by name whether a file is the home's
    or packaged, and where it is; `prompts` is the folder of one's own templates.
    """

    corpus: Corpus
    settings: Settings
    configuration: JudgesConfiguration
    files: Mapping[str, tuple[str, Path]]
    batches: Sequence[Batch]
    anchors: AnchorSet
    prompts: Path | None = None

    @property
    def is_synthetic(self) -> bool:
        return self.corpus.data_class == "synthetic"

    @cached_property
    def dictionary(self) -> PathwayDictionary:
        """The pathways, read once."""
        return load_dictionary(
            self.files["pathways"][1], Vocabulary.from_terms(TERMS.frame())
        )


def read_origin(
    home: Home,
    settings: Settings,
    configuration: JudgesConfiguration,
    prompts: Path | None = None,
) -> Origin:
    """The origin of a home's releases; an undeclared corpus counts as credentialed."""
    anchors = chosen_anchors(settings.explicit.anchors, home.anchor_ratings, home.root)
    files = {Path(name).stem: ("packaged", resource(name)) for name in _RESOURCES}
    files["report_template"] = ("packaged", resource("release", "report.html.j2"))
    files["anchors"] = ("home" if anchors.is_own else "packaged", anchors.file)
    own = {"pathways": home.pathways_file, "blacklist": home.blacklist_file}
    own |= {"assertion": home.assertion_file}
    own |= {
        "corrections": home.corrections_file if home.corrections_file.exists() else None
    }
    files |= {name: ("home", path) for name, path in own.items() if path is not None}
    corpus = home.corpus() or Corpus("unnamed", "credentialed")
    return Origin(
        corpus, settings, configuration, files, home.registered(), anchors, prompts
    )


def provenance(
    origin: Origin,
    ranker: str,
    ranking: pd.DataFrame,
    included: Sequence[str],
    encoders: Sequence[str],
    distilled: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The provenance of a release, ready for JSON: of a ranker with its `REFERENCE_RANKING`, the keys of the
    batches in it, oldest first, the sentence encoders that its rows name, and the distilled model that placed
    findings of some batches, if any.
    """
    settings, anchors, configuration = (
        origin.settings,
        origin.anchors,
        origin.configuration,
    )
    python = ".".join(platform.python_version_tuple()[:2])
    members, first = [str(key) for key in ranking["judges"].iloc[0]], ranking.iloc[0]
    judges = list(dict.fromkeys([*members, configuration.extractor]))
    versions = ("ruler", "ruler_reason", "ranking_version", "vocabulary_version")
    other = {
        name: dict(zip(_PAIR, pair, strict=True))
        for name, pair in departures(settings).items()
    }
    batches = {
        one.key: asdict(one) | {"included": one.key in included}
        for one in origin.batches
    }
    entries = [
        entry
        for entry in metadata.requires(DISTRIBUTION) or ()
        if "extra ==" not in entry
    ]
    required = {re.split(r"[^A-Za-z0-9._-]", entry)[0].lower() for entry in entries}
    told = {
        "bundle": 6,
        "software": {
            "name": DISTRIBUTION,
            "version": metadata.version(DISTRIBUTION),
            "python": python,
        },
        "packages": {name: metadata.version(name) for name in sorted(required)},
        "corpus": {"name": origin.corpus.name, "data_class": origin.corpus.data_class},
        "ranker": ranker,
        "judges": {key: _bound(configuration, key) for key in judges},
        "members": members,
        "extractor": configuration.extractor,
        "structurer": _structurer(origin, included),
        "prompts": load_prompts(origin.prompts).version
        if language_models(configuration, judges)
        else None,
        "ranking": {
            **{name: str(first[name]) for name in versions},
            "phrases": len(ranking),
            "matches": int(ranking["n_matches"].sum()) // 2,
        },
        "anchors": {
            "set": anchors.name,
            "source": anchors.source,
            "phrases": [one.phrase for one in anchors.of(set(ranking["phrase"]))],
            "between_readers": _between_readers(anchors.spread),
        },
        "encoders": list(encoders),
        "settings": settings.model_dump(
            mode="json",
            include={"corpus", "explicit", "implicit"},
            exclude=_NOT_DECIDING,
        ),
        "as_published": {"asked": settings.as_published, "other": other},
        "files": {
            name: {"from": source, "sha256": file_digest(path)}
            for name, (source, path) in sorted(origin.files.items())
        },
        "batches": batches,
        **({"distilled": dict(distilled)} if distilled else {}),
    }
    return {name: _without_paths(value) for name, value in told.items()}


def _between_readers(spread: ReaderSpread) -> dict[str, Any]:
    """Deviations of readers below and above some p, in logits, and where they come from."""
    below, above = spread.deviations(logit(_SPREAD_SHOWN_AT))
    sd_logit = {
        f"{p:g}": [round(float(low), 6), round(float(high), 6)]
        for p, low, high in zip(_SPREAD_SHOWN_AT, below, above, strict=True)
    }
    return {"sd_logit": sd_logit, "source": spread.source}


def json_text(values: Mapping[str, Any]) -> str:
    """Provenance or summary as its file has it."""
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def language_models(
    configuration: JudgesConfiguration, keys: Sequence[str]
) -> list[str]:
    """Those of the judges that are language models."""
    return [
        key
        for key in dict.fromkeys(keys)
        if isinstance(configuration.judges.get(key), LLMJudgeConfig)
    ]


def _bound(configuration: JudgesConfiguration, key: str) -> Any:
    """What answers under a judge's key, as the judges file says; None: it is not there any more."""
    slot = configuration.judges.get(key)
    return bound_to(slot) if slot is not None else None


def _structurer(origin: Origin, included: Sequence[str]) -> dict[str, Any] | None:
    """Who read findings in raw reports, and with which words or model; None where findings were delivered."""
    if not any(
        batch.kind == "text" and batch.key in included for batch in origin.batches
    ):
        return None
    key = origin.configuration.structurer
    _, own_cues = origin.files.get("assertion", ("", None))
    identity = structurer_identity(key, origin.configuration, origin.prompts, own_cues)
    return {
        "key": key,
        "identity": identity,
        "model": _bound(origin.configuration, key),
    }


def _without_paths(value: Any) -> Any:
    """A path names its person and machine; its last part is enough to know the file by."""
    if isinstance(value, Mapping):  # a model in this process may be a folder
        return {name: _without_paths(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_paths(inner) for inner in value]
    if not isinstance(value, str) or not _OWN_PATH.match(value):
        return value
    return re.split(r"[/\\]", value.rstrip("/\\"))[-1]
