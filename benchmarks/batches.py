"""Time of many small batches: `python benchmarks/batches.py [--batches 200] [--reports 5] [--arrivals 3]
[--home DIR]`.

Registers synthetic batches, takes them all from `ingest` to `release` in one go, as `lunguage run` does, and
then lets more arrive one by one. Reports time per batch and step, how it grew from the first tenth of the
batches to the last, and what planning costs. Seconds are of the processor: other work on the machine does not
count, waiting for the disk neither.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from lunguage_assets.current.plan import Stage, Wanted, plan
from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.instance import dagster_instance
from lunguage_assets.orchestration.runs.runner import Runner
from lunguage_assets.sample import write_sample

Times = dict[str, list[float]]
"""Step -> seconds of each of its runs, in order."""


def stopwatch(times: Times) -> tuple[Callable[[Stage, int, int], None], Callable[[], None]]:
    """A listener to stages that notes how long each took, and what ends the last one."""
    running: list[tuple[str, float]] = []

    def end() -> None:
        if running:
            name, started = running.pop()
            times[name].append(time.process_time() - started)

    def begin(stage: Stage, _done: int, _total: int) -> None:
        end()
        running.append((stage.job, time.process_time()))

    return begin, end


def deliver(home: Home, deliveries: Path, number: int, reports: int) -> str:
    """Register one more batch of invented reports."""
    key = f"b{number:04}"
    write_sample(deliveries / key, reports=reports, seed=number)
    home.register(deliveries / key, key)
    return key


def growth(values: list[float]) -> float:
    """Mean of the last tenth over that of the first; the very first run, which also loads libraries, is left
    out.
    """
    rest = values[1:] or values
    tenth = max(1, len(rest) // 10)
    return (sum(rest[-tenth:]) / tenth) / (sum(rest[:tenth]) / tenth)


def report(title: str, times: Times) -> None:
    print(f"\n{title}\n{'step':<22}{'runs':>6}{'mean s':>9}{'growth':>9}")
    for name, values in times.items():
        grown = f"{growth(values):.2f}" if len(values) > 10 else ""
        print(f"{name:<22}{len(values):>6}{sum(values) / len(values):>9.2f}{grown:>9}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--batches", type=int, default=200)
    options.add_argument("--reports", type=int, default=5)
    options.add_argument("--arrivals", type=int, default=3)
    options.add_argument("--home", type=Path, default=None, help="a new folder; default: a temporary one")
    chosen = options.parse_args()
    os.environ.pop("DAGSTER_HOME", None)
    with tempfile.TemporaryDirectory() as temporary:
        home = Home(chosen.home or Path(temporary) / "home")
        deliveries = Path(temporary) / "deliveries"
        registering: Times = defaultdict(list)
        for number in range(chosen.batches):
            started = time.process_time()
            deliver(home, deliveries, number, chosen.reports)
            registering["write and register"].append(time.process_time() - started)
        report(f"{chosen.batches} batches of {chosen.reports} reports", registering)
        with dagster_instance(home) as instance:
            processed: Times = defaultdict(list)
            begin, end = stopwatch(processed)
            resource = HomeResource(root=str(home.root))
            runner = Runner(resource, instance)
            started = time.process_time()
            runner.run(Wanted("panel"), progress=begin)
            end()
            total = time.process_time() - started
            report(f"ingest to release: {total:.0f} s, {total / chosen.batches:.2f} s a batch", processed)
            for arrival in range(chosen.arrivals):
                deliver(home, deliveries, chosen.batches + arrival, chosen.reports)
                more: Times = defaultdict(list)
                begin, end = stopwatch(more)
                started = time.process_time()
                plan(resource.standings(), Wanted("panel"))
                planning = time.process_time() - started
                started = time.process_time()
                runner.run(Wanted("panel"), progress=begin)
                end()
                total = time.process_time() - started
                report(
                    f"one more batch among {chosen.batches + arrival}: {total:.1f} s, {planning:.2f} s of it "
                    "for one plan",
                    more,
                )


if __name__ == "__main__":
    main()
