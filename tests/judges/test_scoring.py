"""Scorers, and judges that compare two scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.open_judges import judge_identity
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.scoring import Scorer


class ByLength:
    """Scores a sentence by its length; those that are green it cannot."""

    identity = "length/1"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def scores(self, masked_sentences: Sequence[str]) -> np.ndarray:
        self.asked += masked_sentences
        lengths = {it: float(len(it)) for it in masked_sentences if "Green" not in it}
        return np.array([lengths.get(it, np.nan) for it in masked_sentences])


def test_the_higher_score_wins_wherever_it_stands_and_without_one_nothing_does() -> (
    None
):
    scorer = ByLength()
    judge = Scorer("mine", scorer.identity, scorer.scores)
    short, long, green = "<finding>.", "Possible <finding>.", "Green <finding>."
    pairs = [(short, long), (long, short), (green, long)]
    questions = [ComparisonQuestion(*pair) for pair in pairs]
    assert judge.compare(questions) == ["sentence_2", "sentence_1", "invalid"]
    judge.compare(questions)
    assert sorted(scorer.asked) == sorted({short, long, green})
    (answer,) = judge.extract([ExtractionQuestion("opacity", "Possible opacity.")])
    assert not answer.valid


DISTILLED = """
preset = "mine"
presets.mine = {{ panel = "one", extractor = "{extractor}", candidates = ["small"] }}
panels.one = {{ members = [{members}] }}
judges.lexicon = {{ provider = "lexicon" }}
judges.small = {{ provider = "distilled"{folder} }}
"""


@pytest.mark.parametrize(
    ("changed_fields", "message"),
    [
        ({"members": '"lexicon", "small"'}, "panels.one.members names 'small'"),
        ({"extractor": "small"}, "presets.mine.extractor"),
    ],
    ids=["a member of a panel", "the extractor"],
)
def test_a_distilled_model_is_a_candidate_and_nothing_else(
    tmp_path: Path, changed_fields: dict[str, str], message: str
) -> None:
    fields = {"members": '"lexicon"', "extractor": "lexicon"}
    fields["folder"] = ', folder = "/nowhere"'
    file = tmp_path / "judges.toml"
    file.write_text(DISTILLED.format(**{**fields, **changed_fields}))
    with pytest.raises(ConfigurationError, match=message):
        load_judges(file)
    file.write_text(DISTILLED.format(**fields))
    judges = load_judges(file)
    assert judges.rankers == ("panel", "lexicon", "small")
    with pytest.raises(ConfigurationError, match="found 0 distilled models"):
        judge_identity("small", judges)
