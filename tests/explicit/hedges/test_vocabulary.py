"""The vocabulary: ten examples, usable ones, and the published ruler for a corpus too small (explicit.md
section 1).
"""

from __future__ import annotations

import pandas as pd
import pytest
from tentative_findings import finding, findings_frame

from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import (
    CHOSEN,
    NO_EXAMPLE,
    PUBLISHED_RULER,
    TOO_FEW,
    hedge_vocabulary,
    newest_only,
)
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.rules.published import ruler_sentences
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_VOCABULARY

OWN = ExplicitSettings(ruler_minimum=2)
LEXICON = LexiconJudge.bundled("lexicon")


def hedges(counts: dict[str, int], **values: object) -> pd.DataFrame:
    sentences = [
        f"Patchy opacity, {phrase} pneumonia, film {i}." for phrase, n in counts.items() for i in range(n)
    ]
    rows = [finding(i, study_id="s50000000", sent=sent, **values) for i, sent in enumerate(sentences)]
    return hedge_phrases(findings_frame(rows), LEXICON)


def vocabulary(frame: pd.DataFrame, settings: ExplicitSettings = OWN) -> pd.DataFrame:
    result = hedge_vocabulary(frame, settings)
    HEDGE_VOCABULARY.to_arrow(result)
    return result.set_index("phrase")


def test_phrases_with_ten_examples_are_retained_and_others_have_a_reason() -> None:
    result = vocabulary(hedges({"likely": 12, "possible": 10, "probable": 9}))
    assert result["retained"].to_dict() == {"likely": True, "possible": True, "probable": False}
    assert result["n_examples"].to_dict() == {"likely": 12, "possible": 10, "probable": 9}
    assert result.loc["probable", "reason"] == TOO_FEW
    for column in ("example_sentences", "example_ids"):
        assert result[column].map(len).tolist() == [12, 10, 9]


@pytest.mark.parametrize(
    "values", [{"masked_sentence": None, "mask_state": "not located"}, {"same_name_in_sentence": True}]
)
def test_a_phrase_whose_examples_cannot_be_masked_is_not_retained(values: dict[str, object]) -> None:
    unusable = hedges({"probable": 10}, **values)
    unusable["finding_id"] = "u" + unusable["finding_id"]
    result = vocabulary(pd.concat([hedges({"likely": 10, "possible": 10}), unusable], ignore_index=True))
    assert result.loc["probable", "reason"] == NO_EXAMPLE
    assert not result.loc["probable", "retained"]
    assert result.loc["probable", "n_examples"] == 10


@pytest.mark.parametrize("counts", [{}, {"likely": 10}, {"likely": 10, "possible": 10}, {"likely": 2}])
def test_a_vocabulary_of_no_one_or_two_phrases_falls_back_to_the_published_ruler(
    counts: dict[str, int],
) -> None:
    result = vocabulary(hedges(counts), ExplicitSettings())
    assert result["retained"].sum() == 42
    assert result["ruler"].eq("published").all()
    assert result.loc["likely", "n_examples"] == counts.get("likely", 0)
    enough = sum(n >= 10 for n in counts.values())
    assert set(result["ruler_reason"]) == {f"{enough} phrases of its own; 20 are the least"}


@pytest.mark.parametrize(("counts", "reason"), [
    ({"likely": 10, "possible": 10},
     "2 phrases of its own, but no anchor phrase 'less likely', 'most likely'"),
    ({"likely": 10, "most likely": 10, "less likely": 9},
     "2 phrases of its own, but no anchor phrase 'less likely'"),
    ({"most likely": 10, "less likely": 10}, ""),
])  # fmt: skip
def test_a_corpus_without_the_anchor_phrases_is_measured_with_the_published_ruler(
    counts: dict[str, int], reason: str
) -> None:
    result = hedge_vocabulary(hedges(counts), OWN, chosen_anchors("published"))
    assert set(result["ruler_reason"]) == {reason}
    assert set(result["ruler"]) == {"published" if reason else "own"}


def test_an_own_ruler_that_the_settings_ask_for_is_never_exchanged() -> None:
    result = hedge_vocabulary(
        hedges({"likely": 10}), ExplicitSettings(ruler="own"), chosen_anchors("published")
    )
    assert result[["phrase", "ruler", "ruler_reason"]].to_numpy().tolist() == [["likely", "own", ""]]


def test_the_published_ruler_lists_the_corpus_phrases_that_it_lacks() -> None:
    result = vocabulary(
        hedges({"likely": 10, "possible": 10, "presumably": 11}),
        ExplicitSettings(ruler="published", ruler_minimum=2),
    )
    assert result["retained"].sum() == 42
    assert result.loc["presumably", "reason"] == PUBLISHED_RULER
    assert not result.loc["presumably", "retained"]
    assert set(result["ruler_reason"]) == {CHOSEN}


def test_the_bundled_ruler_has_ten_masked_sentences_of_its_own_per_phrase() -> None:
    sentences = ruler_sentences()
    everything = [sentence for known in sentences.values() for sentence in known]
    assert len(sentences) == 42
    assert len(set(everything)) == len(everything)
    for phrase, known in sentences.items():
        assert len(known) >= 10, phrase
        for sentence in known:
            assert sentence.count("<finding>") == 1
            assert f" {phrase}" in f" {sentence.lower()}"


def test_of_a_study_that_came_again_the_newest_rows_count_in_the_order_of_registration() -> None:
    first = pd.DataFrame({"study_id": ["s1", "s2"], "value": [1, 2]})
    second = pd.DataFrame({"study_id": ["s2", "s3"], "value": [3, 4]})
    joined = newest_only({"b": second, "a": first}, ["a", "b", "c"])
    assert joined is not None
    assert joined["value"].tolist() == [1, 3, 4]
    assert newest_only({}, ["a"]) is None


def test_the_vocabulary_does_not_depend_on_row_order() -> None:
    frame = hedges({"likely": 12, "possible": 10, "probable": 9})
    shuffled = frame.sample(frac=1.0, random_state=0)
    pd.testing.assert_frame_equal(hedge_vocabulary(frame, OWN), hedge_vocabulary(shuffled, OWN))


def test_the_version_follows_the_retained_examples_only() -> None:
    def version(likely: int, probable: int) -> str:
        return str(
            vocabulary(hedges({"likely": likely, "possible": 10, "probable": probable}))[
                "vocabulary_version"
            ].iloc[0]
        )

    assert version(10, 0) == version(10, 3) != version(11, 0)
