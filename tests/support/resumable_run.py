"""A run of many questions against a fake model, for a process that is killed."""

from __future__ import annotations

from pathlib import Path

from fake_model import FakeModel, questions, read_label

from lunguage_assets.judges.asker import Asker
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.slots import Limits


def ask_all(place: Path, log: Path, count: int, in_flight: int) -> None:
    """Ask `count` questions; `log` gets the key of every call that is sent."""
    model = FakeModel(0.1, latency=0.02, log=log)
    limits = Limits(in_flight=in_flight, backoff_s=0.001)
    Asker("one", model, Ledger.open(place), limits).ask(questions(count), read_label)
