"""The arithmetic of an estimate: questions times tokens times prices, with a range.

What the ledger has measured of a judge goes before an assumption. How many questions a
run would ask, `estimating/estimate.py` counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lunguage_assets.judges.budget import output_limit
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import TRIES

PUBLISHED_STEPS = 24.61
"""Mean steps of a fit in the paper, at a patience of 10 (explicit.md section 5)."""
PUBLISHED_PATIENCE = 10
PUBLISHED_PAIRS = 2066
PUBLISHED_REPORTS = 1473
PUBLISHED_PHRASES = 42
"""Tentative pairs of the published corpus, its reports, and the phrases that it ranks
(explicit.md sections 0 and 1).
"""

QUESTION_TOKENS = {"structure": 1100.0, "extract": 700.0, "compare": 410.0}
"""Task -> tokens of a question with the packaged prompts: about a report of ten
sentences, or about a sentence or two.
"""
ANSWER_TOKENS = {"structure": 1500.0, "extract": 10.0, "compare": 5.0}
"""Task -> tokens of an answer: findings, a phrase or two, a label."""
MOST_TOKENS = 4 / 3
"""A question is at most so many times as long as expected."""
THINKING_SHARE = 0.1
"""Part of its room for output that a model thinks in. From the paper: its extraction
cost about $1 for 2,066 pairs (explicit.md section 1), which at $0.30 and $2.50 leaves
about 110 output tokens an answer, of a budget of 1,000.
"""

Range: TypeAlias = "NDArray[np.float64]"
"""How often something is at least, expected, and at most."""


def price_of(
    config: LLMJudgeConfig,
    task: str,
    questions: Range,
    record: Mapping[Hashable, Any] = {},
) -> Range:
    """Estimate the US dollars that answers of a language model cost.

    Args:
        config: its table in the judges file.
        task: what it is asked, in the ledger's words.
        questions: how many.
        record: how it has answered so far, a row of `Ledger.statistics`.

    Returns:
        At most: each question with all its tries and all output tokens. Missing where
        its price is not known, or its limit of output tokens.
    """
    # To ask nothing is free, whatever the price.
    if not questions.any():
        return np.zeros(3)
    if config.price is None:
        return np.full(3, np.nan)
    room = output_limit(config.params)
    input_tokens = QUESTION_TOKENS[task]
    output_tokens = ANSWER_TOKENS[task] + THINKING_SHARE * (room or 0)
    replies = 1.0
    if record.get("metered"):
        input_tokens = record["input_tokens"] / record["metered"]
        output_tokens = record["output_tokens"] / record["metered"]
        replies = (record["valid"] + record["invalid"]) / record["questions"]
    of_reply = config.price.cost(input_tokens, output_tokens)
    most_output = np.nan if room is None else room
    worst = TRIES * config.price.cost(MOST_TOKENS * input_tokens, most_output)
    return questions * [of_reply, replies * of_reply, worst]


def answers_per_judge(steps: ArrayLike, panel_steps: int, judges: int) -> Range:
    """Count one judge's answers about a sentence (explicit.md section 5).

    Args:
        steps: that its fit takes.
        panel_steps: of these the first, in which every judge is asked; later each has
            its share.
        judges: of the panel.
    """
    together = np.minimum(steps, panel_steps)
    return np.asarray(together + (steps - together) / judges)
