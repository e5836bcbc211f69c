"""A language model as a judge: questions become prompts, and answers are read strictly.

What is not exactly an answer is none, and nothing is ever evaluated (explicit.md
sections 1 and 2). An asker gets the answers (`ask.py`).

Prompts are templates that a person may replace. Their folder has `extraction/` and
`comparison/`, each with `system.txt` and `user.txt`. Placeholders for the question are
`$finding` and `$sentence`, or `$sentence_1` and `$sentence_2`, in `user.txt`; a dollar
sign is written `$$`. The content of all four files gives the version, which is part of
every ledger key.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from pydantic import TypeAdapter

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.ask import Answered, Asker
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import (
    Mode,
    ModelBinding,
    Order,
    Prompt,
    Request,
    model_identity,
    request_key,
)
from lunguage_assets.judges.trust import (
    FIRST_LOOK,
    AnsweredPair,
    Trial,
    counted,
    require_fit,
    swapped,
    trial_questions,
)
from lunguage_assets.packaged_data import resource

T = TypeVar("T")

LABELS = ("sentence_1", "sentence_2")
"""The allowed answers of a comparison."""

TemplateName = tuple[str, str]
"""Task and role: the file `TASK/ROLE.txt`."""

_PLACEHOLDERS: Mapping[TemplateName, frozenset[str]] = {
    ("extraction", "system"): frozenset(),
    ("extraction", "user"): frozenset({"finding", "sentence"}),
    ("comparison", "system"): frozenset(),
    ("comparison", "user"): frozenset({"sentence_1", "sentence_2"}),
}

_LEADING_LABEL = re.compile(r"^[A-Za-z][\w /-]{0,40}:\s*")
_LEADING_ANSWER = re.compile(r"^answer\s*:\s*", re.IGNORECASE)
_CODE_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)
_PHRASES = TypeAdapter(list[str])
_AROUND_A_LABEL = " \t\r\n.,;:!*`'\"“”‘’()[]<>"


@dataclass(frozen=True, slots=True)
class Prompts:
    """Templates of both questions, ready to be filled.

    Attributes:
        version: of their content.
        templates: by task and role.
    """

    version: str
    templates: Mapping[TemplateName, string.Template] = field(repr=False)

    def extraction(self, question: ExtractionQuestion) -> Request:
        """Ask which words of the sentence hedge this finding.

        The sentence is shown unmasked, as in the paper (explicit.md section 1). A free
        list cannot be constrained to labels, so that its mode is always `text`.
        """
        texts = {"finding": question.finding, "sentence": question.sentence}
        return Request("extract", self._filled("extraction", texts))

    def comparison(self, question: ComparisonQuestion, mode: Mode = "text") -> Request:
        """Ask which of two masked sentences is surer (explicit.md section 2)."""
        texts = {"sentence_1": question.sentence_1, "sentence_2": question.sentence_2}
        return Request(
            task="compare",
            prompt=self._filled("comparison", texts),
            mode=mode,
            labels=LABELS,
            replicate=question.replicate,
        )

    def _filled(self, task: str, texts: Mapping[str, str]) -> Prompt:
        # A line break in a sentence would end it in the prompt.
        one_line = {name: " ".join(text.split()) for name, text in texts.items()}
        system = self.templates[task, "system"].substitute()
        user = self.templates[task, "user"].substitute(one_line)
        return Prompt(system, user, self.version)


def load_prompts(folder: Path | None = None) -> Prompts:
    """Load the templates in a folder, or the bundled ones; it replaces all four files.

    Raises:
        ConfigurationError: a file is missing, is not UTF-8, or lacks a placeholder;
            names the file.
    """
    return Prompts(*read_templates(folder or resource("prompts"), _PLACEHOLDERS))


def read_templates(
    root: Path, placeholders: Mapping[TemplateName, frozenset[str]]
) -> tuple[str, dict[TemplateName, string.Template]]:
    """Read the files `root/TASK/ROLE.txt`, each with exactly its placeholders.

    Args:
        root: the folder.
        placeholders: of every template. Their order decides the version.

    Returns:
        Their version, 12 hexadecimal digits of a hash of them, and the templates.

    Raises:
        ConfigurationError: see `load_prompts`.
    """
    if not root.is_dir():
        # Not what was found: the variable may hold a key by mistake, and messages go
        # into logs.
        raise ConfigurationError(
            "the folder of your prompts ($LUNGUAGE_PROMPTS) is not there; expected a "
            "folder such as resources/prompts. Fix or unset it."
        )
    digest = hashlib.sha256()
    templates: dict[TemplateName, string.Template] = {}
    for (task, role), expected in placeholders.items():
        text = _read_template(root / task / f"{role}.txt", expected)
        templates[task, role] = string.Template(text)
        # With names and lengths: a sentence in another template is another version.
        named_text = f"{task}/{role}\x1f{len(text)}\x1f{text}\x1e"
        digest.update(named_text.encode())
    return digest.hexdigest()[:12], templates


def _read_template(file: Path, expected: frozenset[str]) -> str:
    """Read the text of a template that has these placeholders, and no others."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{file}: cannot be read as UTF-8 text ({type(error).__name__}). Put a "
            "prompt template there."
        ) from None
    text = "\n".join(lines).strip()
    template = string.Template(text)
    names = set(template.get_identifiers())
    if text and template.is_valid() and names == expected:
        return text
    raise ConfigurationError(
        f"{file}: found {_listed(names)}; expected a prompt with {_listed(expected)}. "
        "Write a dollar sign as $$."
    )


def _listed(names: set[str] | frozenset[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names)) or "no places to fill"


class ModelJudge:
    """A language model as a judge, in one step of a run.

    Its answers are counted by position; one that does not judge is stopped
    (`trust.py`).

    Args:
        asker: asks the model.
        prompts: the templates.
        mode: how the model answers a comparison.
        order: whether a pair is asked once or in both orders.
        let_in: why it may be one-sided; empty: it may not.
        has_trial: whether it answers the thirty pairs before it is first paid; not
            who only extracts.
        is_position_drawn: whether questions show their sentences in a random order:
            else the share of first-shown answers says nothing of the judge.
    """

    def __init__(
        self,
        asker: Asker,
        prompts: Prompts,
        mode: Mode = "text",
        *,
        order: Order = "one",
        let_in: str = "",
        has_trial: bool = False,
        is_position_drawn: bool = True,
    ) -> None:
        self.key = asker.key
        self.identity = self.identity_of(asker.binding, prompts, mode, order)
        self.interrupt = asker.interrupt
        self._asker = asker
        self._prompts = prompts
        self._mode = mode
        self._order = order
        self._is_let_in = bool(let_in)
        self._needs_trial = has_trial
        self._shows_position = is_position_drawn or order == "both"
        self._answers = Progress(asker.key)

    @staticmethod
    def identity_of(
        binding: ModelBinding, prompts: Prompts, mode: Mode, order: Order = "one"
    ) -> str:
        """Name what changes the answers of a judge, without opening it.

        It is everything in a ledger key but the question.

        Args:
            binding: the model.
            prompts: the templates.
            mode: how the model answers a comparison.
            order: whether a pair is asked once or in both orders.
        """
        # Once for each question: they had versions of their own before the first
        # release, and results are bound to this form.
        versions = json.dumps([prompts.version, prompts.version])
        without_question = Request("compare", Prompt("", "", versions), mode, LABELS)
        identity = model_identity(binding, mode, request_key(binding, without_question))
        return identity if order == "one" else f"{identity}/both"

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the hedging phrases of each question, in the questions' order.

        Raises:
            LunguageError: see `Asker.ask`, or too few answers can be read; what was
                answered is in the ledger.
        """
        requests = [self._prompts.extraction(question) for question in questions]
        self._pass_trial(requests)
        answers: list[ExtractionAnswer] = []
        for some in _in_looks(requests, answered=0):
            phrase_lists = [it.value for it in self._asker.ask(some, parse_phrase_list)]
            self._asker.require_readable(phrase_lists)
            answers += [
                ExtractionAnswer(tuple(phrases or ()), valid=phrases is not None)
                for phrases in phrase_lists
            ]
        return answers

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose a sentence for each question; order and errors as in `extract`.

        Raises:
            UnfitJudge: its answers do not depend on what the sentences say.
        """
        self._pass_trial(self._requests(questions, self._order))
        answers_each = 2 if self._order == "both" else 1
        choices: list[Choice] = []
        for some in _in_looks(questions, self._answers.decided, answers_each):
            pairs = self._ask(some, self._order)
            self._count(some, pairs)
            choices += [pair.choice for pair in pairs]
        return choices

    def _pass_trial(self, requests: Sequence[Request]) -> None:
        """Answer the trial before the first request that is paid.

        Raises:
            UnfitJudge: it is not passed, and nobody has let the judge in.
        """
        # What the ledger answers costs nothing, and asks for no trial.
        if not self._needs_trial or self._asker.has_answered(requests):
            return
        trial = self.trial()
        # Once for each step: the ledger has the answers for the next one.
        self._needs_trial = False
        if not self._is_let_in:
            trial.require_passed(self.key)

    def trial(self) -> Trial:
        """Ask the thirty pairs in both orders; asked before, the ledger answers."""
        questions = trial_questions()
        pairs = self._ask(questions, "both")
        wrong = [
            (question, pair.first.value or "invalid", pair.turned.value or "invalid")
            for question, pair in zip(questions, pairs, strict=True)
            if pair.choice != "sentence_1" and pair.turned is not None
        ]
        return Trial(counted(self.key, pairs), wrong)

    def _requests(
        self, questions: Sequence[ComparisonQuestion], order: Order
    ) -> list[Request]:
        """List what is asked about questions; in both orders, all turned ones last."""
        comparisons = list(questions)
        if order == "both":
            comparisons += map(swapped, questions)
        return [self._prompts.comparison(it, self._mode) for it in comparisons]

    def _ask(
        self, questions: Sequence[ComparisonQuestion], order: Order
    ) -> list[AnsweredPair]:
        requests = self._requests(questions, order)
        answers: list[Answered[Choice]] = self._asker.ask(requests, choice_of)
        self._asker.require_readable([answer.value for answer in answers])
        if order == "one":
            return [AnsweredPair(answer, None) for answer in answers]
        turned = answers[len(questions) :]
        return list(map(AnsweredPair, answers, turned))

    def _count(
        self, questions: Sequence[ComparisonQuestion], pairs: Sequence[AnsweredPair]
    ) -> None:
        """Count what a judge chose by position, and stop one that does not judge."""
        # Where margins are averaged, a position that is preferred cancels out.
        # Between identical sentences any answer is right.
        telling = [
            pair
            for question, pair in zip(questions, pairs, strict=True)
            if pair.margin is None and question.sentence_1 != question.sentence_2
        ]
        answers = counted(self.key, telling)
        self._answers += answers
        self._asker.report(answers)
        if self._shows_position and not self._is_let_in:
            require_fit(self.key, self._answers)


def _in_looks(
    questions: Sequence[T], answered: int, answers_each: int = 1
) -> Iterator[Sequence[T]]:
    """Cut questions where a judge is looked at: after 40 answers, 400, and so on.

    Args:
        questions: that are asked.
        answered: how many answers there were before.
        answers_each: how many a question gets.
    """
    look = FIRST_LOOK
    while questions:
        while look <= answered:
            look *= 10
        count = math.ceil((look - answered) / answers_each)
        yield questions[:count]
        questions = questions[count:]
        answered += count * answers_each


def choice_of(text: str) -> Choice | None:
    """Read the sentence that an answer chooses; None: it cannot be read."""
    return cast(Choice | None, parse_label(text, LABELS))


def parse_phrase_list(text: str) -> list[str] | None:
    """Read the JSON list of strings in a model's answer; None: there is none.

    A leading label ("Answer: [...]") and one code fence around the list are tolerated.
    A Python list in single quotes, text after the list, or a list with something else
    than strings is not. Never evaluated.
    """
    body = text.strip()
    for _ in range(2):  # a label may stand before the fence or inside it
        body = _LEADING_LABEL.sub("", body, count=1)
        fenced = _CODE_FENCE.match(body)
        if fenced:
            body = fenced.group(1).strip()
    try:
        return _PHRASES.validate_json(body)
    except ValueError:
        return None


def parse_label(text: str, labels: Sequence[str]) -> str | None:
    """Read which label a model's answer is; None: none, and the answer is invalid.

    Quotes, brackets, emphasis and punctuation around it, upper or lower case, and a
    leading "Answer:" are tolerated; a second label, a reason, or any other word is not.
    """
    body = _LEADING_ANSWER.sub("", text.strip(_AROUND_A_LABEL), count=1)
    answer = body.strip(_AROUND_A_LABEL).casefold()
    for label in labels:
        if label.casefold() == answer:
            return label
    return None
