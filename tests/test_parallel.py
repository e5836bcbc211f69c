"""Chunks of studies in several processes: the same bytes as all studies at once, and no
process is left.
"""

from __future__ import annotations

import multiprocessing
import operator
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import psutil
import pytest
from platform_support import environment

from lunguage_assets import parallel
from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in, take_in_structured
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.deduplicate import deduplicate, merging_tools
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.statements.label_file import study_tools
from lunguage_assets.sample.files import write_raw_sample, write_sample
from lunguage_assets.settings import load_settings
from lunguage_assets.structuring.rows import read_reports, structured_reports
from lunguage_assets.structuring.rules.structurer import rule_structurer
from lunguage_assets.tables import FITTED_PROBABILITIES, TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import encode


@pytest.fixture
def in_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "CHUNK", 4)
    monkeypatch.setattr(parallel, "MIN_STUDIES_FOR_POOL", 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1})


def stored(frames: dict[str, pd.DataFrame]) -> dict[str, bytes]:
    return {name: encode(TABLES[name], frame).content for name, frame in frames.items()}


def implicit_half(folder: Path) -> dict[str, bytes]:
    settings = load_settings()
    delivery = take_in(find_delivery(folder), settings.corpus)
    terms = delivery.terms
    fits = (delivery.findings, FITTED_PROBABILITIES.frame())
    merged = parallel.joined(
        parallel.map_studies(
            deduplicate, fits, merging_tools, settings.implicit, terms, None
        )
    )
    expanded = parallel.map_studies(expand, (merged,), study_tools, None, terms)
    both = parallel.joined_tables(expanded)
    frames = (merged, *both)
    resolved = parallel.map_studies(resolve, frames, study_tools, None, terms)
    result = parallel.joined_tables(resolved)
    return stored(
        {
            "deduplicated_findings": merged,
            "pathway_matches": both.matches,
            "expansions": both.expansions,
            "lunguage_plus_plus": result.rows,
            "resolution_log": result.log,
            "conflicts": result.conflicts,
        }
    )


@pytest.mark.lengthy
def test_the_implicit_steps_in_processes_store_the_same_bytes(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write_sample(tmp_path, reports=18, seed=3)
    at_once = implicit_half(tmp_path)
    request.getfixturevalue("in_two_processes")
    assert implicit_half(tmp_path) == at_once


def text_half(received: Received, processes: int | None) -> dict[str, bytes]:
    reports = read_reports(received, processes)
    report_tables = reports.report_texts, reports.report_sentences
    structured_frames = parallel.map_studies(
        structured_reports, report_tables, rule_structurer, None, processes=processes
    )
    structured = parallel.joined_tables(structured_frames)
    texts = Received(
        reports.report_texts,
        reports.rejected_reports,
        reports.reading_notes,
        received.terms,
    )
    options = load_settings().corpus
    delivery = take_in_structured(texts, structured.structured_findings, options)
    return stored({**reports._asdict(), **structured._asdict(), **vars(delivery)})


def test_reading_and_structuring_in_processes_stores_the_same_bytes(
    tmp_path: Path, in_two_processes: None
) -> None:
    write_raw_sample(tmp_path / "raw", tmp_path / "truth", 10, 3)
    received = receive(find_delivery(tmp_path / "raw"))
    assert text_half(received, None) == text_half(received, 1)


KILLED = """
import time
from lunguage_assets import parallel

def wait(*chunk):
    print("begun", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    chunks = [()] * 4
    list(parallel.map_chunks(wait, chunks, tuple, studies=1000, processes=2))
"""


def test_processes_end_when_the_one_that_started_them_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(KILLED)
    command = [sys.executable, str(tmp_path / "program.py")]
    variables = environment(tmp_path)
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "begun\n"
        children = psutil.Process(started.pid).children(recursive=True)
        assert len(children) > 2
        started.send_signal(signal.SIGKILL)
    assert psutil.wait_procs(children, timeout=60)[1] == []


@pytest.mark.parametrize("divisors", [(2, 4, 8), (2, 0, 8)])
def test_the_processes_of_a_call_end_with_it_also_where_it_fails(
    divisors: tuple[int, ...],
) -> None:
    chunks = [(8, divisor) for divisor in divisors]
    quotients = parallel.map_chunks(
        operator.floordiv, chunks, tuple, studies=1000, processes=2
    )
    with nullcontext() if all(divisors) else pytest.raises(ZeroDivisionError):
        assert list(quotients) == [4, 2, 1]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("number", ["two", "0", "-1", "²"])
def test_a_number_of_processes_that_is_none_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setenv("LUNGUAGE_PROCESSES", number)
    with pytest.raises(ConfigurationError, match=r"\$LUNGUAGE_PROCESSES"):
        Configuration(Home(tmp_path))


def test_without_affinity_all_cores_of_the_system_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """macOS has no `sched_getaffinity`."""
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert parallel._processes_for(1000, None) == 3
