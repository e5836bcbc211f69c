"""One run through a batch endpoint in a process of its own, to be killed or interrupted: LEDGER URL WIRE
COUNT [after].

`after`: it kills itself when the provider has taken a batch and the ledger does not know yet.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from batch_judges import judge_of, pairs

from lunguage_assets.judges.batches.submissions import Submissions
from lunguage_assets.judges.ledger.ledger import Ledger


def _die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    place, url, wire, count, *when = sys.argv[1:]
    if when == ["after"]:
        Submissions.submitted = _die  # type: ignore[method-assign,assignment]
    answers = judge_of(wire, url, Ledger.open(place)).compare(pairs(int(count)), may_wait=True)
    print(" ".join(answer.answer for answer in answers))
