"""Provenance: everything that decides a release, nothing that does not, no path of a
person.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from small_release import Made

from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.release.provenance import (
    Origin,
    json_text,
    language_models,
    provenance,
)
from lunguage_assets.structuring.model.structurer import structurer_identity


def provenance_of(release_inputs: Made, origin: Origin) -> dict[str, Any]:
    batches = list(release_inputs.batches)
    return provenance(origin, "panel", release_inputs.ranking, batches, ["lexical-1"])


def test_it_names_software_judges_ranking_files_and_batches(invented: Made) -> None:
    values = provenance_of(invented, invented.origin())
    assert values["software"]["name"] == "lunguage-assets"
    assert values["members"] == ["lexicon", "cues"]
    assert values["prompts"] is None, "rule-based judges read none"
    assert values["structurer"] is None, "findings were delivered"
    raw = [replace(batch, kind="text") for batch in invented.origin().batches]
    identity = structurer_identity("rules", invented.origin().configuration)
    of_raw = provenance_of(invented, replace(invented.origin(), batches=raw))
    structurer = {"key": "rules", "identity": identity, "model": None}
    assert of_raw["structurer"] == structurer
    version = values["ranking"]["ranking_version"]
    assert set(invented.ranking["ranking_version"]) == {version}
    assert set(values["files"]) >= {"pathways", "blacklist", "anchors"}
    batches = {batch.key: batch.sha256 for batch in invented.home.registered()}
    assert {key: batch["sha256"] for key, batch in values["batches"].items()} == batches


def test_it_holds_no_time_no_machine_and_no_path(invented: Made) -> None:
    origin = invented.origin()
    paths = {"encoder_model": "/home/someone/models/biolord"}
    implicit = origin.settings.implicit.model_copy(update=paths)
    table = {"provider": "transformers", "params": {"max_new_tokens": 5}}
    slot = LLMJudgeConfig(model="/scratch/someone/medgemma", **table)
    judges = origin.configuration.judges | {"lexicon": slot}
    origin = replace(
        origin,
        settings=origin.settings.model_copy(update={"implicit": implicit}),
        configuration=replace(origin.configuration, judges=judges),
    )
    text = json_text(provenance_of(invented, origin))
    assert "someone" not in text
    assert "~" not in text
    assert '"biolord"' in text
    assert '"medgemma"' in text
    assert not re.search(r"\d{4}-\d\d-\d\dT|\d\d:\d\d:\d\d", text)
    assert text == json_text(provenance_of(invented, origin))


def test_language_models_are_told_with_model_parameters_and_prompts(
    invented: Made,
) -> None:
    configuration = load_judges(preset="models-2025")
    members = configuration.members("panel")
    ranking = invented.ranking.assign(judges=[list(members)] * len(invented.ranking))
    origin = replace(invented.origin(), configuration=configuration)
    values = provenance(origin, "panel", ranking, ["first"], [])
    assert language_models(configuration, members) == list(members)
    assert values["judges"]["gpt-4o"]["model"] == "gpt-4o"
    assert set(values["judges"]) == {*members, configuration.extractor}
    assert re.fullmatch(r"[0-9a-f]{12}", values["prompts"])
    assert "http" not in json_text(values), "addresses of servers are nobody's business"
