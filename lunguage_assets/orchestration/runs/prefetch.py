"""The language models of a panel are asked at the same time, though their partitions are made one after the
other: each partition then finds its answers in the ledger, and stores what it would have stored alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.rating.matches import match_questions, schedule
from lunguage_assets.judges.asking.progress import Progress, announce
from lunguage_assets.judges.protocol import ask_panel
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.resources import HomeResource

_asked: dict[tuple[str, str], dict[int, Progress]] = {}


def prefetched(root: str, judge: str) -> list[Progress]:
    """Where each round stands that a judge was asked ahead of its partition in this home; told once."""
    return list(_asked.pop((root, judge), {}).values())


def prefetch_comparisons(home: HomeResource, keys: Sequence[str]) -> None:
    """Ask the language models among these judges for all comparisons of the vocabulary, if they are several.

    Where one cannot answer, the others do; the partition's own run says why.
    """

    def note(progress: Progress) -> None:
        _asked.setdefault((home.root, progress.judge), {})[progress.round] = progress
        announce(progress)

    models = [key for key in keys if key in home.judges.models]
    if len(models) < 2:
        return
    with suppress(LunguageError):
        vocabulary = stored_table(home.home.tables, "hedge_vocabulary", (home.judges.extractor,))
        home.require_anchors(set(vocabulary.loc[vocabulary["retained"], "phrase"]))
        questions = match_questions(schedule(vocabulary, home.settings.explicit))
        ask_panel([home.judge(key, note) for key in models], [questions] * len(models))
