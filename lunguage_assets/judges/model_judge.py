"""A language model as a judge: questions become prompts, and answers are read strictly.

What is not exactly an answer is none, and nothing is ever evaluated (explicit.md
sections 1 and 2). An asker gets the answers (`ask.py`). The content of the templates in
`resources/prompts` gives their version, which is part of every ledger key.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from pydantic import TypeAdapter

from lunguage_assets.judges.ask import Asker
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Mode, Request, Stage
from lunguage_assets.judges.trust import (
    AnsweredPair,
    Trial,
    answered_pairs,
    choice_of,
    counted,
    in_order,
    require_fit,
    trial_questions,
)
from lunguage_assets.packaged_data import resource

LABELS = ("sentence_1", "sentence_2")
"""The allowed answers of a comparison."""

_LABEL = r"(?:[A-Za-z][\w /-]*:\s*)?"
# A label may stand before the fence or inside it.
_PHRASE_LIST = re.compile(
    rf"{_LABEL}(?:```[a-zA-Z]*\s*{_LABEL})?(\[.*\])\s*(?:```)?", re.DOTALL
)
_PHRASES = TypeAdapter(list[str])


class Prompts:
    """Packaged templates, ready to be filled.

    Args:
        tasks: whose templates they are.

    Attributes:
        version: 12 hexadecimal digits of a hash of their content.
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        digest = hashlib.sha256()
        self._templates: dict[tuple[str, str], string.Template] = {}
        for task in tasks:
            for role in ("system", "user"):
                file = resource("prompts", task, f"{role}.txt")
                text = file.read_text(encoding="utf-8").strip()
                self._templates[task, role] = string.Template(text)
                # With names and lengths: a sentence in another template is another
                # version.
                digest.update(f"{task}/{role}\x1f{len(text)}\x1f{text}\x1e".encode())
        self.version = digest.hexdigest()[:12]

    def filled(
        self, stage: Stage, task: str, texts: Mapping[str, str], **fields: Any
    ) -> Request:
        """Fill the templates of a task.

        Args:
            stage: of the request.
            task: whose templates are filled.
            texts: by their names in the template.
            fields: others of the request.
        """
        system = self._templates[task, "system"].substitute()
        user = self._templates[task, "user"].substitute(texts)
        return Request(stage, system, user, self.version, **fields)

    def extraction(self, question: ExtractionQuestion) -> Request:
        """Ask which words of the sentence hedge this finding.

        The sentence is shown unmasked, as in the paper (explicit.md section 1). A free
        list cannot be constrained to labels, so that its mode is always `text`.
        """
        texts = {
            "finding": _one_line(question.finding),
            "sentence": _one_line(question.sentence),
        }
        return self.filled("extract", "extraction", texts)

    def comparison(self, question: ComparisonQuestion, mode: Mode = "text") -> Request:
        """Ask which of two masked sentences is surer (explicit.md section 2)."""
        texts = {
            "sentence_1": _one_line(question.sentence_1),
            "sentence_2": _one_line(question.sentence_2),
        }
        return self.filled(
            "compare",
            "comparison",
            texts,
            mode=mode,
            labels=LABELS,
            replicate=question.replicate,
        )


def _one_line(text: str) -> str:
    """Join lines: a line break in a sentence would end it in the prompt."""
    return " ".join(text.split())


@cache
def load_prompts(*tasks: str) -> Prompts:
    """Read the packaged templates of tasks; without any, those of a judge."""
    return Prompts(tasks or ("extraction", "comparison"))


class ModelJudge:
    """A language model as a judge, in one step of a run.

    Its answers are counted by position; one that does not judge is stopped
    (`trust.py`).

    Args:
        asker: asks the model.
        has_trial: whether it answers the thirty pairs before it is first paid; not
            who only extracts.
        is_position_drawn: whether questions show their sentences in a random order:
            else the share of first-shown answers says nothing of the judge.
    """

    def __init__(
        self, asker: Asker, *, has_trial: bool = False, is_position_drawn: bool = True
    ) -> None:
        self.key = asker.key
        self.identity = self.identity_of(asker.config)
        self.interrupt = asker.interrupt
        self._asker = asker
        self._config = asker.config
        self._needs_trial = has_trial
        self._shows_position = is_position_drawn or asker.config.order == "both"
        self._answers = Progress(asker.key)

    @staticmethod
    def identity_of(config: LLMJudgeConfig) -> str:
        """Name what changes the answers of a judge, without opening it.

        It is everything in a ledger key but the question.
        """
        version = load_prompts().version
        blank = Request("compare", "", "", version, config.mode, LABELS)
        identity = config.identity(config.key_of(blank))
        return identity if config.order == "one" else f"{identity}/both"

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the hedging phrases of each question, in the questions' order.

        Raises:
            LunguageError: see `Asker.ask_in_looks`; what was answered is in the ledger.
        """
        if questions:
            self._pass_trial()
        requests = list(map(load_prompts().extraction, questions))
        looks = self._asker.ask_in_looks(requests, parse_phrase_list)
        settled = chain.from_iterable(looks)
        phrases = [parse_phrase_list(it.answer or "") for it in settled]
        return [ExtractionAnswer(tuple(it or ()), it is not None) for it in phrases]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose a sentence for each question; order and errors as in `extract`.

        Raises:
            UnfitJudge: its answers do not depend on what the sentences say.
        """
        if questions:
            self._pass_trial()
        order = self._config.order
        requests = self._requests(in_order(questions, order))
        pairs: list[AnsweredPair] = []
        for answers in self._asker.ask_in_looks(requests, choice_of):
            newest = answered_pairs(answers, order)
            self._count(questions[len(pairs) :], newest)
            pairs += newest
        return [pair.choice for pair in pairs]

    def _requests(self, comparisons: Sequence[ComparisonQuestion]) -> list[Request]:
        return [load_prompts().comparison(it, self._config.mode) for it in comparisons]

    def _pass_trial(self) -> None:
        """Answer the trial before the first question of a step.

        Raises:
            UnfitJudge: it is not passed, and nobody has let the judge in.
        """
        if self._needs_trial:
            trial = self.trial()
            self._needs_trial = False
            if not self._config.let_in:
                trial.require_passed()

    def trial(self) -> Trial:
        """Ask the thirty pairs in both orders; asked before, the ledger answers."""
        requests = self._requests(in_order(trial_questions(), "both"))
        answers = self._asker.ask(requests, choice_of)
        return Trial(self.key, answered_pairs(answers, "both"))

    def _count(
        self, questions: Sequence[ComparisonQuestion], pairs: Sequence[AnsweredPair]
    ) -> None:
        """Count what a judge chose by position, and stop one that does not judge.

        Args:
            questions: the first of them were answered now.
            pairs: answers to these.
        """
        # Where margins are averaged, a position that is preferred cancels out.
        # Between identical sentences any answer is right.
        telling = [
            pair
            for pair, question in zip(pairs, questions, strict=False)
            if not pair.margins and question.sentence_1 != question.sentence_2
        ]
        counts = counted(self.key, telling)
        self._answers += counts
        self._asker.progress(counts)
        if self._shows_position and not self._config.let_in:
            require_fit(self.key, self._answers)


def parse_phrase_list(text: str) -> list[str] | None:
    """Read the JSON list of strings in a model's answer; None: there is none.

    A leading label ("Answer: [...]") and one code fence around the list are tolerated.
    A Python list in single quotes, text after the list, or a list with something else
    than strings is not. Never evaluated.
    """
    answer = _PHRASE_LIST.fullmatch(text.strip())
    try:
        return _PHRASES.validate_json(answer[1]) if answer else None
    except ValueError:
        return None
