"""A batch endpoint that fails, and a judge that may not use one: nothing is sent twice, nothing unasked, and
nothing is said that should not be.
"""

from __future__ import annotations

import uuid
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from batch_judges import WIRES, judge_of, once, pairs, patiently, row, slot_of
from loopback import LoopbackServer
from loopback_batches import BatchService

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.budget import Budget, BudgetExceeded
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.asking.round import JudgeIncomplete
from lunguage_assets.judges.batches import batch_watch
from lunguage_assets.judges.batches.submissions import Submissions
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.examination import examination
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings, open_judge
from lunguage_assets.judges.policy import PolicyRefused
from lunguage_assets.judges.protocol import (
    Judge,
    ask_to_compare,
)
from lunguage_assets.judges.slots import ModelSlot

for _module in ("openai", "anthropic", "google.genai"):
    pytest.importorskip(_module, reason="needs the LLM SDKs: pip install 'lunguage-assets[llm]'")

every_wire = pytest.mark.parametrize("wire", WIRES)


# --- a service that fails


@every_wire
def test_a_sending_that_fails_is_tried_again_and_one_batch_is_out(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server, looks=0)
    statuses = (429, 429, 500, 529, 503)
    service.fail("submit", *statuses)
    judge = judge_of(wire, server.url, ledger)
    patiently(judge)
    judge.close()
    assert (len(service.batches), service.operations["submit"]) == (1, 1 + len(statuses))


@every_wire
def test_a_batch_that_was_taken_though_the_provider_said_otherwise_is_found_and_not_sent_again(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    service.accept_and_fail()
    service.fail("list", 429, 500)
    judge = judge_of(wire, server.url, ledger)
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert (len(service.batches), service.operations["submit"]) == (1, 1)


@every_wire
def test_a_sending_that_is_refused_leaves_nothing_behind(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    service.fail("submit", 401)
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(JudgeIncomplete, match=r"could not be sent: authentication"):
        patiently(judge)
    assert (service.batches, Submissions(ledger).outstanding()) == ([], [])
    patiently(judge)
    judge.close()
    assert len(service.batches) == 1


@every_wire
def test_looking_goes_on_while_the_service_is_down_for_a_moment(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    service.fail("look", 500, 200, 429, 529, 503, 500)
    service.fail("results", 500, 503)
    judge = judge_of(wire, server.url, ledger)
    patiently(judge)
    judge.close()
    assert len(service.batches) == 1


@every_wire
def test_a_batch_that_cannot_be_looked_at_stays_out_and_the_next_run_collects_it(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    service.fail("look", *[500] * 6)
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(JudgeIncomplete, match="could not be looked at"):
        patiently(judge)
    assert [submission.questions for submission in Submissions(ledger).outstanding()] == [20]
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert len(service.batches) == 1


@every_wire
def test_a_batch_that_the_account_does_not_know_is_sent_again_only_when_it_can_no_longer_be_worked_on(
    wire: str, server: LoopbackServer, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = BatchService(server)
    service.fail("look", 404)
    judge = judge_of(wire, server.url, ledger)
    with pytest.raises(JudgeIncomplete, match="not known to this account"):
        patiently(judge)
    assert len(service.batches) == 1
    monkeypatch.setattr(batch_watch, "LOST_AFTER", timedelta(0))
    service.fail("look", 404)
    assert all(answer.valid for answer in patiently(judge))
    judge.close()
    assert len(service.batches) == 2


@every_wire
def test_what_was_collected_is_deleted_at_the_provider_and_a_failing_deletion_harms_nothing(
    wire: str, server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    judge = judge_of(wire, server.url, ledger)
    patiently(judge)
    gone = {"openai": {"file-in-0", "out-batch_1"}, "anthropic": {"msgbatch_1"}, "gemini": {"batches/b1"}}
    assert set(service.deleted) == gone[wire]
    service.fail("delete", 500, 500)
    assert all(answer.valid for answer in ask_to_compare(judge, pairs(3, start=50), may_wait=True))
    judge.close()


# --- money, policy, secrecy


def test_a_budget_that_the_batches_could_pass_sends_nothing(server: LoopbackServer, ledger: Ledger) -> None:
    service = BatchService(server)
    with pytest.raises(BudgetExceeded, match="20 of 20 questions") as caught:
        patiently(judge_of("openai", server.url, ledger, questions=7, budget=Budget(0.0001)))
    assert "batches" in str(caught.value)
    assert sum(service.operations.values()) == 0
    budget = Budget(1.0)
    judge = judge_of("openai", server.url, ledger, questions=7, budget=budget)
    patiently(judge)
    judge.close()
    assert row(ledger)["cost_usd"] > 0
    assert budget.spent_usd == pytest.approx(row(ledger)["cost_usd"])


def test_what_cannot_be_priced_or_bounded_cannot_be_held_to_a_budget(
    server: LoopbackServer, ledger: Ledger
) -> None:
    service = BatchService(server)
    for change in ({"price": None}, {"params": {}}):
        slot = slot_of("openai", server.url, **change)
        with pytest.raises(BudgetExceeded, match="no price, or no limit on output tokens"):
            patiently(judge_of("openai", server.url, ledger, slot=slot, budget=Budget(100.0)))
    assert service.batches == []


def test_a_batch_that_may_be_out_counts_at_its_worst_case(server: LoopbackServer, ledger: Ledger) -> None:
    service = BatchService(server)
    service.fail("look", 403)
    budget = Budget(1.0)
    judge = judge_of("openai", server.url, ledger, budget=budget)
    with pytest.raises(JudgeIncomplete):
        patiently(judge)
    out = budget.spent_usd
    patiently(judge)
    judge.close()
    assert out > row(ledger)["cost_usd"] > 0
    assert budget.spent_usd == pytest.approx(out), "collecting what is paid costs nothing more"


JUDGES = """
preset = "p"
[panels.p]
members = ["one"]
[presets.p]
panel = "p"
extractor = "one"
[judges.one]
provider = "anthropic"
model = "model-1"
params = {{ max_tokens = 50 }}
base_url = "{url}"
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01{discount} }}
batch_allowed = {allowed}
batches = {{ questions = 8, first_look_s = 0.01, longest_look_s = 0.02 }}
"""


def opened(
    tmp_path: Path,
    server: LoopbackServer,
    data_class: Any = "synthetic",
    allowed: str = "true",
    discount: str = "",
) -> tuple[Judge, Ledger]:
    file = tmp_path / f"judges-{allowed}.toml"
    file.write_text(JUDGES.format(url=server.url, allowed=allowed, discount=discount))
    ledger = Ledger.open(tmp_path / f"ledger-{uuid.uuid4().hex}")
    return open_judge("one", load_judges(file), Surroundings(data_class, lambda: ledger)), ledger


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-a")


@pytest.mark.usefixtures("key")
def test_batches_are_used_only_where_the_judges_file_allows_them(
    tmp_path: Path, server: LoopbackServer
) -> None:
    service = BatchService(server)
    refused, ledger = opened(tmp_path, server, allowed="false")
    answers = patiently(refused)
    assert (service.batches, len(server.calls)) == ([], 20)
    single = row(ledger)["cost_usd"]
    allowed, ledger = opened(tmp_path, server, discount=", batch_discount = 0.25")
    assert patiently(allowed) == answers
    assert (len(service.batches), len(server.calls)) == (3, 20)
    assert row(ledger)["cost_usd"] == pytest.approx(0.75 * single)


@pytest.mark.usefixtures("key")
def test_credentialed_text_is_not_sent_in_a_batch_to_a_judge_that_may_not_receive_it(
    tmp_path: Path, server: LoopbackServer
) -> None:
    service = BatchService(server)
    judge, ledger = opened(tmp_path, server, data_class="credentialed")
    with pytest.raises(PolicyRefused, match="credentialed"):
        patiently(judge)
    assert sum(service.operations.values()) == 0
    assert Submissions(ledger).outstanding() == []


@pytest.mark.usefixtures("key")
def test_doctor_warns_that_a_provider_keeps_batches_of_patients_text(
    tmp_path: Path, server: LoopbackServer
) -> None:
    opened(tmp_path, server)
    judges = load_judges(tmp_path / "judges-true.toml")
    for data_class, expected in (("credentialed", True), ("synthetic", False)):
        lines = examination(judges, data_class, date(2026, 11, 21), {"ANTHROPIC_API_KEY": "key-a"})  # type: ignore[arg-type]
        assert any("keeps batches" in message for _, message in lines) == expected


@pytest.mark.parametrize(
    ("provider", "reason"), [("azure-openai", "batches or single calls"), ("vertex", "storage bucket")]
)
def test_batches_are_refused_where_they_cannot_be_used(
    provider: str, reason: str, tmp_path: Path, server: LoopbackServer
) -> None:
    file = tmp_path / "judges.toml"
    file.write_text(
        JUDGES.format(url=server.url, allowed="true", discount="").replace('"anthropic"', f'"{provider}"')
    )
    with pytest.raises(ConfigurationError, match=rf"judges\.one: .*batch_allowed is true; .*{reason}"):
        load_judges(file)


def test_a_judges_batch_price_is_its_price_less_the_discount() -> None:
    price = ModelSlot(
        provider="gemini", model="m", price={"input": 4.0, "output": 8.0, "as_of": "2026-01-01"}
    ).price  # type: ignore[arg-type]
    assert price is not None
    assert price.in_batches.cost(1_000_000, 500_000) == pytest.approx(price.cost(1_000_000, 500_000) / 2)
    assert price.in_batches.in_batches == price.in_batches


@every_wire
def test_no_message_or_log_line_quotes_a_question(
    wire: str, server: LoopbackServer, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    service = BatchService(server, fate=once("rejected"), ends=("completed", "cancelled", "completed"))
    service.fail("submit", 500, 429)
    service.fail("look", 500)
    judge = judge_of(wire, server.url, ledger, questions=7)
    with pytest.raises(JudgeIncomplete) as caught:
        patiently(judge)
    judge.close()
    said = str(caught.value) + caplog.text
    assert "batch of 7 questions is out" in said
    assert "number" not in said
    assert "quotes" not in said


def test_progress_adds_up_to_the_ledger(server: LoopbackServer, ledger: Ledger) -> None:
    BatchService(server, fate=once("nonsense"), looks=0)
    seen = list[Progress]()
    judge = judge_of("openai", server.url, ledger, questions=7, progress=seen.append)
    patiently(judge)
    judge.close()
    last, stored = seen[-1], row(ledger)
    assert (last.questions, last.settled, last.calls, last.input_tokens) == (
        20,
        20,
        stored["attempts"],
        stored["input_tokens"],
    )
    assert last.cost_usd == pytest.approx(stored["cost_usd"])
    assert {one.round for one in seen} == {last.round}
    assert [one.settled for one in seen] == sorted(one.settled for one in seen)
