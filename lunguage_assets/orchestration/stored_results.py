"""Which results of a home `lunguage run` would keep, told from the stored tables alone: for a dry run, which
reads no record of runs.

The run itself goes by what Dagster noted with each table (`orchestration/runs/runner.py`); the same is asked
here of the tables' own versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lunguage_assets.errors import InvalidTable, MethodError
from lunguage_assets.explicit.hedges.vocabulary import NO_EXAMPLE
from lunguage_assets.explicit.rating.matches import schedule
from lunguage_assets.explicit.rating.ranking import ranking_version, reference_ranking
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import TABLES


class StoredResults:
    """Tables of a home, as one extractor and one ranker left them.

    Args:
        home: need not exist.
        extractor: judge that extracts the phrases.
        ranker: `panel` or one judge.
        members: judges that the ranker pools, in panel order, with their identities.
    """

    def __init__(self, home: Home, extractor: str, ranker: str, members: Mapping[str, str]) -> None:
        self._home, self._extractor, self._ranker, self._members = home, extractor, ranker, members

    def hedge_phrases(self, batch: str) -> pd.DataFrame | None:
        """The extractor's phrases of a batch, None when there are none."""
        return self._table("hedge_phrases", self._extractor, batch)

    def stick(self, settings: ExplicitSettings) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        """Vocabulary and ranking that a run with these settings would keep, each None when it would be made
        anew.

        A ranking is kept with its vocabulary when settings, answers and judges give its version again. A
        vocabulary that no ranking belongs to yet is kept too, when these settings can have made it: a run was
        interrupted there, or another ranker has used it.
        """
        vocabulary, ranking = (
            self._table("hedge_vocabulary", self._extractor),
            self._table("reference_ranking", self._ranker),
        )
        if vocabulary is None or not len(vocabulary) or not _can_be_of(vocabulary, settings):
            return None, None
        if ranking is None or _only(ranking, "vocabulary_version") != _only(vocabulary, "vocabulary_version"):
            return vocabulary, None
        matches = {
            judge: frame
            for judge in self._members
            if (frame := self._table("comparison_matches", judge)) is not None
        }
        if len(matches) < len(self._members) or not all(
            _is_scheduled(frame, vocabulary, settings) for frame in matches.values()
        ):
            return None, None
        current = _version(vocabulary, matches, settings, list(self._members.values()))
        return (vocabulary, ranking) if current == _only(ranking, "ranking_version") else (None, None)

    def is_pending(self, batch: str, ranking: pd.DataFrame | None) -> bool:
        """Whether a run would make this batch's result (again): it is missing, or was made with another
        ranking than this one.

        Changed settings, for which a run makes all batches again, are not to be seen in the tables: the
        record of runs tells of them.
        """
        fitted = self._table("fitted_probabilities", self._ranker, batch)
        if ranking is None or fitted is None or self._table("accounting", self._ranker, batch) is None:
            return True
        return len(fitted) > 0 and _only(fitted, "ranking_version") != _only(ranking, "ranking_version")

    def _table(self, name: str, *partition: str) -> pd.DataFrame | None:
        """A stored partition; None when it is missing, or of another schema, which a run would make anew."""
        try:
            return read_table(TABLES[name], partition_path(self._home.tables, name, *partition))
        except (FileNotFoundError, InvalidTable):
            return None


def _can_be_of(vocabulary: pd.DataFrame, settings: ExplicitSettings) -> bool:
    """Whether these settings can have chosen the retained phrases."""
    enough = int((vocabulary["n_examples"] >= settings.minimum_examples).sum())
    if _only(vocabulary, "ruler") == "published":
        return settings.ruler == "published" or enough < settings.ruler_minimum
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    unused = vocabulary[(vocabulary["reason"] != "").to_numpy(dtype=bool)]
    return (
        settings.ruler == "own"
        and len(retained) >= settings.ruler_minimum
        and int(retained["n_examples"].min()) >= settings.minimum_examples
        and enough <= len(retained) + int((unused["reason"] == NO_EXAMPLE).sum())
    )


def _is_scheduled(matches: pd.DataFrame, vocabulary: pd.DataFrame, settings: ExplicitSettings) -> bool:
    plan = schedule(vocabulary, settings)
    expected = {
        "match_id": plan.match_id,
        "sentence_a": plan.sentence_a,
        "sentence_b": plan.sentence_b,
        "swapped": plan.swapped,
    }
    return all(matches[name].tolist() == values for name, values in expected.items())


def _version(
    vocabulary: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    identities: Sequence[str],
) -> str:
    try:
        if _only(vocabulary, "ruler") == "published":
            return _only(reference_ranking(vocabulary, matches, settings, identities), "ranking_version")
        return ranking_version(vocabulary, matches, settings, identities)
    except MethodError:
        return ""


def _only(frame: pd.DataFrame, column: str) -> str:
    return str(frame[column].iloc[0])
