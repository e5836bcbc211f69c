"""A run of many questions against a fake model, for a process that is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fake_model import FakeModel, questions, read_label

from lunguage_assets.judges.asking.engine import Asking, ask
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.slots import Limits


def ask_all(place: Path, log: Path, count: int, in_flight: int) -> None:
    """Ask `count` questions; `log` gets the key of every call that is sent."""
    model = FakeModel(0.1, latency=0.02, log=log)
    limiter = Limiter(Limits(in_flight=in_flight, backoff_s=0.001))
    asking = Asking("one", Ledger.open(place), limiter)
    asyncio.run(ask(questions(count), model, asking, read_label))
