"""Opens the judges of the explicit half: language models, rules, a distilled model.

How a language model is reached, behind the data policy and the ledger, is in
`judges/opening.py`. A distilled model is opened here, because it is trained in this
half and `judges/` lies below it.
"""

from __future__ import annotations

from pathlib import Path

from lunguage_assets.explicit.distilled.judge import (
    DistilledJudge,
    scorer_file,
    scorer_identity,
)
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.judge_config import OfflineJudgeConfig
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.opening import JudgeContext, open_asker
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge


def open_judge(
    key: str, configuration: JudgesConfiguration, context: JudgeContext
) -> Judge:
    """Open the judge of a slot, ready to be asked.

    Args:
        key: of the slot.
        configuration: the judges file.
        context: what a language model needs of the run.
    """
    slot = configuration.judges[key]
    if isinstance(slot, OfflineJudgeConfig):
        return offline_judge(key, slot)
    return ModelJudge(
        open_asker(key, slot, context),
        # Who only extracts has no trial.
        has_trial=key in configuration.rankers,
        is_position_drawn=context.is_position_drawn,
    )


def judge_identity(key: str, configuration: JudgesConfiguration) -> str:
    """Name the judge that `open_judge` would open; no ledger and no model is opened.

    Args:
        key: of the slot.
        configuration: the judges file.

    Raises:
        ConfigurationError: as `open_judge`.
    """
    slot = configuration.judges[key]
    # Whether a table is stale is asked often: no ledger is opened for it, and of a
    # distilled model only the name of its file is read.
    if not isinstance(slot, OfflineJudgeConfig):
        return ModelJudge.identity_of(slot)
    if slot.provider == "distilled":
        return scorer_identity(scorer_file(Path(slot.folder).expanduser()))
    return offline_judge(key, slot).identity


def offline_judge(key: str, slot: OfflineJudgeConfig) -> Judge:
    """Open the judge of a slot that asks nobody.

    Raises:
        ConfigurationError: a distilled model is not there.
    """
    if slot.provider == "distilled":
        return DistilledJudge(key, Path(slot.folder).expanduser())
    if slot.provider == "cues":
        return CuesJudge(key)
    return LexiconJudge(key)
