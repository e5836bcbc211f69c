"""Describes where a release comes from: all that decides its content.

Everything has a name, a version and a hash, so that two releases differ for a reason
that stands in their `provenance.json` (docs/reports.md). No time, no machine, no path
of a person is in it: the same inputs give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets import __version__
from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.open_judges import judge_identity
from lunguage_assets.explicit.probability import RATED, AnchorSet, anchors_in_use
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import Settings, departures
from lunguage_assets.structuring.model.structurer import structurer_identity
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Batch
from lunguage_assets.workspace.versions import file_digest

_BUNDLE_FORMAT = 7
"""Counted up when the files of a release change their form."""
_RESOURCES = (
    "pathways.yaml",
    "blacklist.yaml",
    "labels.yaml",
    "published_ranking.csv",
    "people/reader_spread.csv",
)
_NOT_DECIDING = {"explicit": {"fit_log"}}
"""Options that change what a run logs, and no row."""
_BINDING = {"provider", "model", "params", "mode", "order", "let_in"}
"""Fields of a judge's table that tell what answered under its key."""
_OF_RANKING = ("ruler", "ruler_reason", "ranking_version", "vocabulary_version")
_PATH_OF_A_PERSON = re.compile(r'"(?:/|\.{1,2}/|~)[^"]*?([^"/]+)/?"')


@dataclass(frozen=True)
class Origin:
    """Everything a release was made with besides its tables.

    Attributes:
        corpus: whose reports these are.
        settings: of the run.
        configuration: the judges file.
        files: by name, whether a file is the home's or packaged, and where it is.
        batches: all that are registered, oldest first.
        anchors: those in use.
    """

    corpus: Corpus
    settings: Settings
    configuration: JudgesConfiguration
    files: Mapping[str, tuple[str, Path]]
    batches: Sequence[Batch]
    anchors: AnchorSet

    @property
    def is_synthetic(self) -> bool:
        return self.corpus.data_class == "synthetic"

    @cached_property
    def dictionary(self) -> PathwayDictionary:
        """The pathways, read once."""
        _, pathways = self.files["pathways"]
        return load_dictionary(pathways, Vocabulary(TERMS.frame()))


def read_origin(configuration: Configuration) -> Origin:
    """Read what a home's releases are made with.

    A corpus that it does not declare counts as credentialed: nothing of it may be taken
    for open by mistake.
    """
    home = configuration.home
    # A file of the home takes the place of the packaged one of its name.
    anchors = anchors_in_use(home.anchor_ratings)
    files = {Path(name).stem: ("packaged", resource(name)) for name in _RESOURCES}
    files["report_template"] = ("packaged", resource("release", "report.html.j2"))
    files["anchors"] = ("home" if anchors.name == RATED else "packaged", anchors.file)
    files_of_home = {
        "pathways": home.pathways_file,
        "blacklist": home.blacklist_file,
        "assertion": home.assertion_file,
        "corrections": home.corrections_file,
    }
    for name, path in files_of_home.items():
        if path is not None and path.exists():
            files[name] = ("home", path)
    return Origin(
        corpus=home.corpus() or Corpus("unnamed", "credentialed"),
        settings=configuration.settings,
        configuration=configuration.judges,
        files=files,
        batches=home.registered(),
        anchors=anchors,
    )


def provenance(
    origin: Origin,
    ranker: str,
    ranking: pd.DataFrame,
    included: Sequence[str],
    encoders: Sequence[str],
) -> dict[str, Any]:
    """Describe where a release comes from, ready for JSON.

    Args:
        origin: what the release was made with.
        ranker: whose release it is.
        ranking: its `REFERENCE_RANKING` frame.
        included: keys of the batches in the release, oldest first.
        encoders: sentence encoders that its rows name.
    """
    configuration = origin.configuration
    members = [str(key) for key in ranking["judges"].iloc[0]]
    # The extractor decides which phrases there are, whether it compares them or not.
    judges = list(dict.fromkeys([*members, configuration.extractor]))
    models = language_models(configuration, judges)
    batches = {
        batch.key: {**asdict(batch), "included": batch.key in included}
        for batch in origin.batches
    }
    files = {
        name: {"from": source, "sha256": file_digest(path)}
        for name, (source, path) in sorted(origin.files.items())
    }
    values = {
        "bundle": _BUNDLE_FORMAT,
        "software": {"name": "lunguage-assets", "version": __version__},
        "corpus": {"name": origin.corpus.name, "data_class": origin.corpus.data_class},
        "ranker": ranker,
        "judges": {key: _binding(configuration, key) for key in judges},
        "members": members,
        "extractor": configuration.extractor,
        "structurer": _structurer(origin, included),
        "prompts": load_prompts().version if models else None,
        "ranking": {
            **{name: str(ranking[name].iloc[0]) for name in _OF_RANKING},
            "phrases": len(ranking),
            # A match stands in the rows of both phrases.
            "matches": int(ranking["n_matches"].sum()) // 2,
        },
        "anchors": {"set": origin.anchors.name, "source": origin.anchors.source},
        "encoders": list(encoders),
        "settings": origin.settings.model_dump(
            mode="json",
            include={"corpus", "explicit", "implicit"},
            exclude=_NOT_DECIDING,
        ),
        "as_published": {
            "asked": origin.settings.as_published,
            "other": {
                name: {"published": published, "used": used}
                for name, (published, used) in departures(origin.settings).items()
            },
        },
        "files": files,
        "batches": batches,
    }
    # The last part of a path is enough to know a file by; the rest names a person and a
    # machine. One may stand anywhere: a model in this process is a folder.
    text = _PATH_OF_A_PERSON.sub(r'"\1"', json.dumps(values))
    return dict(json.loads(text))


def json_text(values: Mapping[str, Any]) -> str:
    """Write provenance or summary as its file has it."""
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def language_models(
    configuration: JudgesConfiguration, keys: Sequence[str]
) -> list[str]:
    """List those of the judges that are language models."""
    return [
        key
        for key in dict.fromkeys(keys)
        if isinstance(configuration.judges.get(key), LLMJudgeConfig)
    ]


def _binding(configuration: JudgesConfiguration, key: str) -> dict[str, Any] | None:
    """Describe what answers under a judge's key; None: no judge has it any more."""
    judge = configuration.judges.get(key)
    if judge is None:
        return None
    if judge.provider == "distilled":
        # Of another model in that folder every result would be stale.
        identity = judge_identity(key, configuration)
        return {"provider": judge.provider, "model": identity}
    return judge.model_dump(mode="json", exclude_defaults=True, include=_BINDING)


def _structurer(origin: Origin, included: Sequence[str]) -> dict[str, Any] | None:
    """Say who found the rows of raw reports, and with which words or model.

    None where findings were delivered: nobody read the reports.
    """
    kinds = {batch.kind for batch in origin.batches if batch.key in included}
    if "text" not in kinds:
        return None
    key = origin.configuration.structurer
    _, own_cues = origin.files.get("assertion", ("", None))
    return {
        "key": key,
        "identity": structurer_identity(key, origin.configuration, own_cues),
        "model": _binding(origin.configuration, key),
    }
