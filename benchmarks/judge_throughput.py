"""How many answers a second language models give: python benchmarks/judge_throughput.py
[calls per judge] [in flight] [latency in ms].

Four judges behind the real SDKs, asked at the same time, each with a SQLite ledger
entry for every answer, against a loopback server in a process of its own that answers
after a fixed time. Beside it a serial loop over the plain SDK on the same server, and
what a call costs the processor when the server answers at once. Bounds: calls in flight
/ latency; and what the processor time of a call allows on one core, because one Python
process computes on one at a time, and on two. Then the same four judges in two
processes that share the ledger, as two runs of a backfill are.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.judge_config import (
    Limits,
    LLMJudgeConfig,
    ModelProvider,
    Price,
)
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.protocol import ComparisonQuestion

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from loopback import Call, LoopbackServer

PANEL: tuple[ModelProvider, ...] = (
    "openai",
    "openai-compatible",
    "anthropic",
    "gemini",
)
KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
PRICE = Price.model_validate({"input": 1.0, "output": 2.0, "as_of": "2026-01-01"})
SERIAL_CALLS = 12
PROCESSOR_TIME = "How many seconds has your processor worked?"


# --- the server, in its own process
# ----------------------------------------------------------------------


def serve(latency_s: float) -> None:
    def answer(call: Call) -> str:
        is_about_time = call.user == PROCESSOR_TIME
        return str(time.process_time()) if is_about_time else "sentence_1"

    with LoopbackServer(latency=latency_s, answer=answer) as server:
        print(server.url, flush=True)
        sys.stdin.read()  # until the client closes it


@contextmanager
def served(latency_s: float) -> Iterator[str]:
    command = [sys.executable, __file__, "--serve", str(latency_s)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def servers_time(url: str) -> float:
    messages = [{"role": "user", "content": PROCESSOR_TIME}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", data=body)
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    return float(answer["choices"][0]["message"]["content"])


# --- what is measured
# ----------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """`calls` answers in `wall` seconds, with so many processor seconds of this process
    and of the server.
    """

    calls: int
    wall: float
    client: float
    server: float

    @property
    def rate(self) -> float:
        return self.calls / self.wall

    @property
    def client_ms(self) -> float:
        return 1000 * self.client / self.calls


def measured(url: str, calls: int, work: Callable[[], object]) -> Measured:
    before = servers_time(url), time.process_time(), time.perf_counter()
    work()
    wall = time.perf_counter() - before[2]
    client = time.process_time() - before[1]
    return Measured(calls, wall, client, servers_time(url) - before[0])


def questions(count: int, start: int = 0) -> list[ComparisonQuestion]:
    sentence = "There may be an invented <finding> in the lower zone, number"
    return [
        ComparisonQuestion(f"{sentence} {n}.", f"{sentence} {n}, and it is likely.")
        for n in range(start, start + count)
    ]


def judge_of(
    provider: ModelProvider, url: str, ledger: Ledger, in_flight: int
) -> ModelJudge:
    params = {"max_output_tokens" if provider == "gemini" else "max_tokens": 100}
    address = f"{url}/v1" if provider.startswith("openai") else url
    slot = LLMJudgeConfig(
        provider=provider,
        model="model-1",
        base_url=address,
        params=params,
        limits=Limits(in_flight=in_flight),
        price=PRICE,
        order="one",
        # The server always names the first sentence.
        let_in="to measure how fast it is",
    )
    asker = Asker(provider, slot, lambda: provider_of(provider, slot, KEYS), ledger)
    return ModelJudge(asker)


def together(judges: list[ModelJudge], comparisons: list[ComparisonQuestion]) -> None:
    threads = [
        threading.Thread(target=judge.compare, args=(comparisons,)) for judge in judges
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def panel(
    url: str, providers: tuple[ModelProvider, ...], calls: int, in_flight: int
) -> Measured:
    """These judges at once, `calls` questions each; connections are opened before the
    clock starts.
    """
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "ledger.sqlite")
        judges = [judge_of(provider, url, ledger, in_flight) for provider in providers]
        together(judges, questions(in_flight, start=1_000_000))
        result = measured(
            url, calls * len(judges), lambda: together(judges, questions(calls))
        )
        stored = int(ledger.statistics()["valid"].sum())
        assert stored == len(judges) * (calls + in_flight), (
            "every answer is in the ledger"
        )
        return result


def ask_as_child(
    url: str, ledger: str, providers: list[ModelProvider], calls: int, in_flight: int
) -> None:
    """One of several processes: connections first, then at a sign the questions; prints
    its processor seconds.
    """
    judges = [
        judge_of(provider, url, Ledger.open(ledger), in_flight)
        for provider in providers
    ]
    together(judges, questions(in_flight, start=1_000_000))
    print("ready", flush=True)
    sys.stdin.readline()
    before = time.process_time()
    together(judges, questions(calls))
    print(time.process_time() - before, flush=True)


def processes(
    url: str,
    provider_groups: list[tuple[ModelProvider, ...]],
    calls: int,
    in_flight: int,
) -> Measured:
    """A process per part of the panel, all at once on one ledger."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = str(Path(folder) / "ledger.sqlite")
        command = [
            sys.executable,
            __file__,
            "--ask",
            url,
            ledger,
            str(calls),
            str(in_flight),
        ]
        children = [
            subprocess.Popen(
                [*command, *providers],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for providers in provider_groups
        ]
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()
        before = servers_time(url)
        start = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        client = sum(float(child.communicate()[0]) for child in children)
        wall = time.perf_counter() - start
        calls_in_all = calls * sum(map(len, provider_groups))
        stored = int(Ledger.open(ledger).statistics()["valid"].sum())
        assert stored == calls_in_all + in_flight * sum(map(len, provider_groups)), (
            "every answer is in the ledger"
        )
        return Measured(calls_in_all, wall, client, servers_time(url) - before)


def serial(url: str, provider: ModelProvider, calls: int) -> Measured:
    """One call after the other with the plain SDK, as a script would."""
    prompt = load_prompts().comparison(questions(1)[0])
    if provider == "anthropic":
        import anthropic

        messages = anthropic.Anthropic(api_key="k", base_url=url).messages
        ask = partial(
            messages.create,
            model="model-1",
            max_tokens=100,
            system=prompt.system,
            messages=[{"role": "user", "content": prompt.user}],
        )
    elif provider == "gemini":
        from google import genai

        client = genai.Client(
            vertexai=False,
            api_key="k",
            http_options=genai.types.HttpOptions(base_url=url),
        )
        config = genai.types.GenerateContentConfig(
            max_output_tokens=100, system_instruction=prompt.system
        )
        ask = partial(
            client.models.generate_content,
            model="model-1",
            contents=prompt.user,
            config=config,
        )
    else:
        import openai

        completions = openai.OpenAI(api_key="k", base_url=f"{url}/v1").chat.completions
        spoken = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ]
        ask = partial(
            completions.create, model="model-1", max_tokens=100, messages=spoken
        )
    ask()
    return measured(url, calls, lambda: [ask() for _ in range(calls)])


def plain_concurrent(url: str, calls: int, in_flight: int) -> Measured:
    """The plain asynchronous SDK of OpenAI with as many calls in flight, and nothing
    around it: no ledger, no limits.
    """
    import openai

    prompt = load_prompts().comparison(questions(1)[0])
    spoken = [
        {"role": "system", "content": prompt.system},
        {"role": "user", "content": prompt.user},
    ]

    async def work() -> None:
        client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
        numbers_left = iter(range(calls))

        async def worker() -> None:
            for _ in numbers_left:
                await client.chat.completions.create(
                    model="model-1", max_tokens=100, messages=spoken
                )  # type: ignore[arg-type]

        await asyncio.gather(*(worker() for _ in range(in_flight)))
        await client.close()

    return measured(url, calls, lambda: asyncio.run(work()))


# --- the report
# ----------------------------------------------------------------------


def report_costs(calls: int, in_flight: int) -> tuple[float, float]:
    """Mean processor seconds of a call over the panel: of this process, and of the
    server.
    """
    print(
        f"{'processor time of a call, server answering at once':<52}{'judge':>10}{'plain SDK':>12} "
        "  (ms, this process)"
    )
    ours = []
    with served(0.0) as url:
        for provider in PANEL:
            ours.append(panel(url, (provider,), calls, in_flight))
            theirs = serial(url, provider, min(calls, 200))
            print(
                f"  {provider:<50}{ours[-1].client_ms:>10.2f}{theirs.client_ms:>12.2f}"
            )
        bare = plain_concurrent(url, calls, in_flight)
        label = f"openai, asynchronous, {in_flight} in flight, nothing around it"
        print(f"  {label:<50}{'':>10}{bare.client_ms:>12.2f}")
    calls_measured = sum(measurement.calls for measurement in ours)
    return sum(measurement.client for measurement in ours) / calls_measured, sum(
        measurement.server for measurement in ours
    ) / calls_measured


def report_panel(
    calls: int, in_flight: int, latency_s: float, client_s: float, server_s: float
) -> None:
    with served(latency_s) as url:
        all_at_once = panel(url, PANEL, calls, in_flight)
        one_by_one = serial(url, "openai", SERIAL_CALLS)
        alone = panel(url, ("openai",), calls, in_flight)
        two = processes(url, [PANEL[:2], PANEL[2:]], calls, in_flight)

    def line(label: str, rate: float, bound: float) -> None:
        print(f"  {label:<50}{rate:>10.0f}{bound:>12.0f}{bound / rate:>16.2f}")

    title = f"calls per second at {latency_s * 1000:.0f} ms latency"
    print(f"\n{title:<52}{'measured':>10}{'bound':>12}{'bound/measured':>16}")
    bound_of_one = in_flight / latency_s
    bound_of_panel = len(PANEL) * in_flight / latency_s
    line(f"one judge x {in_flight}, against the latency", alone.rate, bound_of_one)
    line(
        f"{len(PANEL)} judges x {in_flight}, against the latency",
        all_at_once.rate,
        bound_of_panel,
    )
    line(
        "the same, against one core (one Python process)",
        all_at_once.rate,
        1 / client_s,
    )
    line(
        "the same, against two cores, the server's work too",
        all_at_once.rate,
        2 / (client_s + server_s),
    )
    line(
        "in two processes, two judges each, against two cores",
        two.rate,
        2 / (client_s + server_s),
    )
    faster = all_at_once.rate / one_by_one.rate
    print(
        f"  {'serial loop over the plain SDK of OpenAI':<50}{one_by_one.rate:>10.1f}{'':>12}{faster:>15.0f}x"
    )
    print(
        f"  processor seconds: this process {all_at_once.client:.2f}, "
        f"server {all_at_once.server:.2f}, in {all_at_once.wall:.2f} s"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(float(sys.argv[2]))
    elif sys.argv[1:2] == ["--ask"]:
        url_, ledger_, calls_, in_flight_, *providers_ = sys.argv[2:]
        ask_as_child(url_, ledger_, providers_, int(calls_), int(in_flight_))  # type: ignore[arg-type]
    else:
        numbers = [int(value) for value in sys.argv[1:]]
        calls_, in_flight_, latency_ms = (*numbers, *(1000, 64, 300)[len(numbers) :])
        report_panel(
            calls_, in_flight_, latency_ms / 1000, *report_costs(calls_, in_flight_)
        )
