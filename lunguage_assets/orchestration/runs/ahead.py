"""Language models of a run are asked at the same time, though their partitions are made one after the other.

While the comparisons of the first judge are made, those of the others are asked in threads; each judge's
partition then finds its answers in the ledger, and its bytes are those that it would have had alone. What was
asked and paid ahead is shown with the partition that it was asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress

import pandas as pd

from lunguage_assets.current.plan import Stage
from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.home.store import partition_path, read_sound_table
from lunguage_assets.judges.asking.progress import Progress, announce
from lunguage_assets.judges.protocol import Interruptible, Judge
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import TABLES

COMPARE = "compare"
_INTERRUPT_EVERY_S = 0.2

_asked: dict[tuple[str, str], dict[int, Progress]] = {}
_lock = threading.Lock()


def asked_ahead(root: str, judge: str) -> list[Progress]:
    """Where each round stands that a judge was asked ahead of its partition in this home; told once."""
    with _lock:
        return list(_asked.pop((root, judge), {}).values())


class AskingAhead:
    """The judges that are being asked ahead; made by `asking_ahead`."""

    def __init__(self, home: HomeResource) -> None:
        self._home = home
        self._judges, self._asking = dict[str, Judge](), dict[str, Future[None]]()
        self._threads = ThreadPoolExecutor(max(1, len(home.judges.models)), thread_name_prefix="ahead")

    def begin(self, stages: Sequence[Stage]) -> None:
        """Ask the language models of these stages, which make comparisons, if there are several."""
        keys = [stage.keys[0] for stage in stages if stage.keys[0] in self._home.judges.models]
        new = [key for key in keys if key not in self._asking]
        if not new:
            return
        with suppress(LunguageError, FileNotFoundError):  # the partitions' own runs say why
            vocabulary = self._vocabulary()
            for key in new:
                judge = self._judges[key] = self._home.judge(key, self._note(key))
                self._asking[key] = self._threads.submit(
                    _ask, vocabulary, judge, self._home.settings.explicit
                )

    def wait_for(self, stage: Stage) -> None:
        """Wait until the judge of a stage has been asked, if it is being asked."""
        if asking := self._asking.get(stage.keys[0]):
            wait([asking])

    def close(self) -> None:
        """End the asking: calls in flight are recorded, nothing more is sent."""
        for key, asking in self._asking.items():
            judge = self._judges[key]
            while not asking.cancel() and not asking.done():
                if isinstance(judge, Interruptible):
                    judge.interrupt()
                wait([asking], timeout=_INTERRUPT_EVERY_S)
        self._threads.shutdown()

    def _vocabulary(self) -> pd.DataFrame:
        home, table = self._home, "hedge_vocabulary"
        place = partition_path(home.home.tables, table, home.judges.extractor)
        vocabulary = read_sound_table(TABLES[table], place)
        home.require_anchors(set(vocabulary.loc[vocabulary["retained"], "phrase"]))
        return vocabulary

    def _note(self, key: str) -> Callable[[Progress], None]:
        def note(progress: Progress) -> None:
            with _lock:
                _asked.setdefault((self._home.root, key), {})[progress.round] = progress
            announce(progress)

        return note


@contextmanager
def asking_ahead(home: HomeResource) -> Iterator[AskingAhead]:
    """Judges that are asked ahead within; whatever ends it ends the asking."""
    ahead = AskingAhead(home)
    try:
        yield ahead
    finally:
        ahead.close()


def _ask(vocabulary: pd.DataFrame, judge: Judge, settings: ExplicitSettings) -> None:
    with suppress(LunguageError):  # the partition asks what is missing, and says what was wrong
        comparison_matches(vocabulary, judge, settings)
