"""A job that is launched too early says what to launch first; a batch that nobody
registered is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_homes import SmallHome, key_of, said_of, write_deliveries

from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.orchestration.partitions import REPORT_BATCH

NEEDS_NOTHING = ("read_reports", "ingest")


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallHome]:
    """A home in which a batch is registered and nothing made."""
    root = tmp_path_factory.mktemp("registered")
    with SmallHome.opened(root / "home") as small:
        small.register(
            write_deliveries(root / "deliveries", reports=2, batches=("first",))
        )
        yield small


def why(small: SmallHome, job: str, **keys: str) -> str:
    """Why a job fails that is launched for a partition."""
    result = small.definitions.resolve_job_def(job).execute_in_process(
        instance=small.instance,
        partition_key=key_of(JOBS[job][0], **keys),
        raise_on_error=False,
    )
    assert not result.success
    return said_of(result)


@pytest.mark.parametrize("job", sorted(JOBS.keys() - NEEDS_NOTHING))
def test_what_to_launch_first_is_said(registered: SmallHome, job: str) -> None:
    message = why(registered, job)
    assert "FileNotFoundError" not in message
    assert "aunch" in message or "lunguage" in message, message


def test_a_partition_without_a_batch_is_refused_with_a_remedy(
    registered: SmallHome,
) -> None:
    registered.instance.add_dynamic_partitions(REPORT_BATCH.name, ["frist"])
    message = why(registered, "ingest", report_batch="frist")
    assert "batch 'frist' is not registered" in message
    assert "lunguage batches remove frist" in message
