"""One run of 2,000 questions against a fake model, in a process of its own, to be killed: LEDGER LOG
IN_FLIGHT LATENCY. Half a second after its last sign of life its claims end.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from fake_model import FakeModel, questions, read_label

from lunguage_assets.judges.asking.engine import ask
from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.asking.round import Asking
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.slots import Limits

if __name__ == "__main__":
    place, log, in_flight, latency = sys.argv[1:]
    model = FakeModel(0.1, latency=float(latency), log=Path(log))
    limiter = Limiter(Limits(in_flight=int(in_flight), backoff_s=0.001))
    ledger = Ledger.open(place, lease_s=0.5)
    asyncio.run(ask(questions(2000), model, Asking("one", ledger, limiter), read_label))
