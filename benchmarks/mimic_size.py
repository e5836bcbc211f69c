"""A corpus of MIMIC-CXR's size from text to release: `python benchmarks/mimic_size.py
[--studies 227835] [--batch 12000] [--processes 2] [--findings]`.

Puts the sentences of the invented reports into new company, or with `--findings` draws
Lunguage files; the clock leaves this out. Two sentences of five get a number of their
own, so that they repeat about as often as in an archive. Registers them as batches, and
runs `lunguage run` with the offline judges in a process of its own. Prints wall and
processor time, the highest memory of all processes together, and for each stage its
time and its processor milliseconds a study in the first and in the last tenth of the
batches, whose ratio says whether the cost grows faster than the corpus.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil
from recombined import Pools, pools_of, recombined

from lunguage_assets.orchestration.instance import dagster_instance
from lunguage_assets.sample.files import ABOUT, ABOUT_FILE, TABLE_FILE, write_sample
from lunguage_assets.sample.studies import FIRST, sample_studies
from lunguage_assets.workspace.home import Home

MIMIC_CXR = 227_835
STUDIES_OF_A_PATIENT = 3
SENTENCES_WITH_A_NUMBER = 0.4
_END = re.compile(r"(?<=[a-z])\.(?=\s|$)")
_NUMBER = re.compile(r"(?<![0-9a-f])9[0-9]{7}(?![0-9a-f])")
LOOK_EVERY_S = 0.5


def deliver(
    folder: Path, number: int, reports: int, before: int, *, findings: bool
) -> None:
    """An invented delivery whose studies and patients are no other delivery's."""
    if not findings:
        write_texts(folder, number, reports, before)
        return
    write_sample(folder, reports=reports, seed=number)
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8")
        file.write_text(
            _NUMBER.sub(lambda match: str(int(match[0]) + before), text),
            encoding="utf-8",
        )


@cache
def pools() -> Pools:
    return pools_of(sample_studies(800, 0, "varied")["report"])


def write_texts(folder: Path, number: int, reports: int, before: int) -> None:
    """A table of raw reports, numbered from `before` on."""
    draw = random.Random(number)

    def numbered(end: re.Match[str]) -> str:
        return (
            f" on image {draw.randrange(10**9)}."
            if draw.random() < SENTENCES_WITH_A_NUMBER
            else end[0]
        )

    rows = []
    for study, text in enumerate(
        recombined(pools(), reports, number), start=FIRST + before
    ):
        subject = FIRST + (study - FIRST) // STUDIES_OF_A_PATIENT
        rows.append(
            (
                f"s{study}",
                f"p{subject}",
                draw.choice(("AP", "PA, LATERAL")),
                _END.sub(numbered, text),
            )
        )
    folder.mkdir(parents=True)
    pd.DataFrame(rows, columns=["study_id", "subject_id", "view", "report"]).to_csv(
        folder / TABLE_FILE, index=False
    )
    (folder / ABOUT_FILE).write_text(ABOUT, encoding="utf-8")


class Sample(NamedTuple):
    """What a command with all its processes had used at a moment."""

    time: float
    cpu_s: float
    memory: int


class Usage:
    """Processor time and memory of a command and of all that it starts, looked at again
    and again.
    """

    def __init__(self, command: list[str]) -> None:
        self._process = psutil.Popen(command)
        self._cpu_s_by_process: dict[int, float] = {}
        self.samples: list[Sample] = []

    def until_the_end(self) -> int:
        """Look until the command ends; return its exit status."""
        while self._process.poll() is None:
            self.samples.append(self._sample())
            time.sleep(LOOK_EVERY_S)
        return int(self._process.returncode)

    def _sample(self) -> Sample:
        held = 0
        for process in (self._process, *self._children()):
            try:
                held += process.memory_info().rss
                used = process.cpu_times()
                self._cpu_s_by_process[process.pid] = used.user + used.system
            except psutil.Error:  # it has ended meanwhile: what it used is kept
                continue
        return Sample(time.time(), sum(self._cpu_s_by_process.values()), held)

    def _children(self) -> list[psutil.Process]:
        try:
            return self._process.children(recursive=True)
        except psutil.Error:
            return []

    def cpu_s(self, begin: float, end: float) -> float:
        """Processor seconds between two moments."""
        times = [sample.time for sample in self.samples]
        used = [sample.cpu_s for sample in self.samples]
        first, last = np.interp([begin, end], times, used)
        return float(last - first)


class StageRun(NamedTuple):
    """A stage on one partition: when it ran, and the processor seconds of all processes
    meanwhile.
    """

    job: str
    wall_s: float
    cpu_s: float


def stage_runs(home: Home, usage: Usage) -> dict[str, list[StageRun]]:
    """Every run in its order, by job."""
    runs_by_job: dict[str, list[StageRun]] = defaultdict(list)
    with dagster_instance(home) as instance:
        for record in sorted(
            instance.get_run_records(), key=lambda record: record.start_time or 0.0
        ):
            if record.start_time and record.end_time:
                job = record.dagster_run.job_name
                wall_s = record.end_time - record.start_time
                cpu_s = usage.cpu_s(record.start_time, record.end_time)
                runs_by_job[job].append(StageRun(job, wall_s, cpu_s))
    return runs_by_job


def print_stages(
    runs_by_job: Mapping[str, Sequence[StageRun]], studies: int, batch: int
) -> None:
    """A line per stage; of those that ran once a batch, the first and the last tenth of
    the batches.
    """
    print(
        f"{'job':<20}{'runs':>6}{'wall s':>10}{'cpu s':>10}   cpu ms a study: first tenth, last, ratio"
    )
    for job, runs in runs_by_job.items():
        line = f"{job:<20}{len(runs):>6}{sum(run.wall_s for run in runs):>10.0f}"
        line += f"{sum(run.cpu_s for run in runs):>10.0f}"
        if len(runs) == -(-studies // batch) > 1:
            full_batches = runs[: studies // batch]  # the last batch may be smaller
            tenth = max(1, len(full_batches) // 10)
            first, last = (
                1000 * sum(run.cpu_s for run in tenth_of_runs) / (tenth * batch)
                for tenth_of_runs in (full_batches[:tenth], full_batches[-tenth:])
            )
            line += f"   {first:.3f}  {last:.3f}  {last / first:.2f}"
        else:
            line += f"   {1000 * sum(run.cpu_s for run in runs) / studies:.3f} in all"
        print(line)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--studies", type=int, default=MIMIC_CXR)
    options.add_argument("--batch", type=int, default=12_000, help="studies of a batch")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument(
        "--findings", action="store_true", help="deliver Lunguage files instead of text"
    )
    options.add_argument(
        "--home", type=Path, default=None, help="a new folder; default: a temporary one"
    )
    chosen = options.parse_args()
    os.environ.pop("DAGSTER_HOME", None)
    with tempfile.TemporaryDirectory() as temporary:
        home = Home((chosen.home or Path(temporary) / "home").resolve())
        number_of_batches = 0
        for number, before in enumerate(range(0, chosen.studies, chosen.batch)):
            folder = Path(temporary) / f"b{number:04}"
            reports = min(chosen.batch, chosen.studies - before)
            deliver(folder, number, reports, before, findings=chosen.findings)
            home.register(folder, folder.name)
            shutil.rmtree(folder)  # the home has it
            number_of_batches += 1
        command = [
            sys.executable,
            "-m",
            "lunguage_assets.cli.main",
            "run",
            "--home",
            str(home.root),
        ]
        begun = time.monotonic()
        usage = Usage([*command, "--processes", str(chosen.processes)])
        if status := usage.until_the_end():
            sys.exit(status)
        wall_s = time.monotonic() - begun
        highest = max(sample.memory for sample in usage.samples)
        size = sum(
            file.stat().st_size for file in (home.root / "tables").rglob("*.parquet")
        )
        print(
            f"\n{chosen.studies} studies in {number_of_batches} batches, {chosen.processes} processes: "
            f"{wall_s / 60:.1f} min, {usage.samples[-1].cpu_s / 60:.1f} min of processor time, "
            f"{highest / 2**30:.1f} GB at most, tables {size / 2**30:.2f} GB"
        )
        print_stages(stage_runs(home, usage), chosen.studies, chosen.batch)


if __name__ == "__main__":
    main()
