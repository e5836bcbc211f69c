"""Fitting in lockstep is the printed algorithm, one sentence at a time (explicit.md
section 5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples, scaled
from tentative_findings import (
    ScriptedJudge,
    finding,
    findings_frame,
    invented_findings,
    own_vocabulary,
    published_scale,
)

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit import fitted_findings
from lunguage_assets.explicit.fit import Fits, Outcome, phrase_examples
from lunguage_assets.explicit.fitted_findings import FitTables, fit_pairs
from lunguage_assets.explicit.hedges import hedge_phrases
from lunguage_assets.explicit.probability import Anchor, published_anchors
from lunguage_assets.explicit.ranking import Examples
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion, Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import (
    mix,
    random_bits,
    smallest,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

PUBLISHED = ExplicitSettings(reference_scale="published")
Stick = tuple[pd.DataFrame, pd.DataFrame]
PANEL: tuple[Judge, ...] = (LexiconJudge("lexicon"), CuesJudge("cues"))


@pytest.fixture(scope="module")
def stick() -> Stick:
    return published_scale()


@dataclass
class Scale:
    """The phrases that a sentence plays, as arrays."""

    ranking: pd.DataFrame
    examples: Examples

    def __post_init__(self) -> None:
        self.phrases = self.ranking["phrase"].tolist()
        self.mu = self.ranking["mu"].to_numpy()
        self.variance = self.ranking["sigma"].to_numpy() ** 2


@pytest.fixture(scope="module")
def reference(stick: Stick) -> Scale:
    vocabulary, ranking = stick
    return Scale(ranking, phrase_examples(ranking, vocabulary))


BETA = 4.167
TAU = 0.083
DRAW_BETA = 25.0 / 6.0
VOID_LIMIT = 10
"""Steps without a valid answer after which a sentence stays unfitted."""

LoggedStep = tuple[str, float, str, float, float, int]
"""Opponent, draw probability, answers, mu, sigma and rank: a line of the fit's log."""


@dataclass
class PlainFit:
    """The page's algorithm for one sentence, without arrays; only the hashed draws are
    shared with the code under test.
    """

    sentence: str
    reference: Scale
    panel: Sequence[Judge]
    options: ExplicitSettings
    mu: float = 25.0
    variance: float = 8.333**2
    steps: int = 0
    tried: int = 0
    invalid: int = 0
    ranks: list[int] = field(default_factory=list)
    log: list[LoggedStep] = field(default_factory=list)

    def hashes(self, judge: Judge) -> np.ndarray:
        """A scorer's draws do not depend on the sentence."""
        seed = np.array([text_hash(self.options.seed, "fit")], dtype=np.uint64)
        if not isinstance(judge, Scorer):
            seed = mix(seed, text_hashes([self.sentence]))
        return mix(seed, self.tried, text_hash(judge.key))

    def draw_probability(self, opponent: int) -> float:
        performances = 2 * DRAW_BETA**2
        total = performances + self.variance + float(self.reference.variance[opponent])
        distance = (self.mu - float(self.reference.mu[opponent])) ** 2
        return math.sqrt(performances / total) * math.exp(-distance / (2 * total))

    def ask(self, judge: Judge, opponent: int) -> bool | None:
        """Whether the sentence won in the eyes of a judge; None: an invalid answer."""
        key = self.hashes(judge)
        sentences = self.reference.examples.sentences[opponent]
        shown = sentences[int(smallest(mix(key, 0), text_hashes(sentences))[0])]
        coin = bool(random_bits(mix(key, 1))[0])
        if isinstance(judge, Scorer):
            score, opponent_score = judge.scores([self.sentence, shown])
            if np.isnan(score + opponent_score):
                return None
            return coin if score == opponent_score else bool(score > opponent_score)
        is_second = self.options.position == "coin" and coin
        pair = (shown, self.sentence) if is_second else (self.sentence, shown)
        choice = judge.compare([ComparisonQuestion(*pair, self.tried)])[0]
        return None if choice == "invalid" else (choice == "sentence_2") == is_second

    def update(self, won: bool, opponent: int) -> None:
        """TrueSkill's update of the sentence; the opponent stays as it is."""
        variance = self.variance + TAU**2
        opponent_variance = float(self.reference.variance[opponent]) + TAU**2
        c = math.sqrt(2 * BETA**2 + variance + opponent_variance)
        sign = 1 if won else -1
        t = sign * (self.mu - float(self.reference.mu[opponent])) / c
        density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        v = density / (0.5 * math.erfc(-t / math.sqrt(2)))
        self.mu += sign * variance / c * v
        self.variance = variance * (1 - variance / c**2 * v * (v + t))

    def stop(self, met: list[int]) -> str:
        """Why the fit ends here; empty while it goes on."""
        patience = self.options.patience
        if len(self.ranks) >= patience and len(set(self.ranks[-patience:])) == 1:
            return "stable rank"
        if self.steps >= self.options.step_limit:
            return "step limit"
        if min(met) >= self.options.opponent_limit:
            return "no opponent left"
        return "no valid answers" if self.tried - self.steps >= VOID_LIMIT else ""

    def run(self) -> str:
        """Play all steps, and say why they ended."""
        met = [0] * len(self.reference.mu)
        while not (stop := self.stop(met)):
            eligible = [i for i, n in enumerate(met) if n < self.options.opponent_limit]
            opponent = max(eligible, key=self.draw_probability)
            draw = self.draw_probability(opponent)
            playing = list(self.panel)
            if self.steps >= self.options.panel_steps:
                turns = [mix(self.hashes(judge), 2)[0] for judge in playing]
                playing = [playing[int(np.argmin(turns))]]
            outcomes = [self.ask(judge, opponent) for judge in playing]
            valid = [won for won in outcomes if won is not None]
            for won in valid:
                self.update(won, opponent)
            rank = sum(mu > self.mu for mu in self.reference.mu.tolist())
            self.tried += 1
            self.invalid += len(outcomes) - len(valid)
            if valid:
                self.steps += 1
                met[opponent] += 1
                self.ranks.append(rank)
            words = {True: "won", False: "lost", None: "invalid"}
            answers = " ".join(
                f"{judge.key}={words[won]}"
                for judge, won in zip(playing, outcomes, strict=True)
            )
            phrase = self.reference.phrases[opponent]
            sigma = math.sqrt(self.variance)
            self.log.append((phrase, draw, answers, self.mu, sigma, rank))
        return stop


def moody(rate: float) -> Callable[[ComparisonQuestion], Choice]:
    """A judge with an opinion of its own on every sentence pair, invalid for a share of
    them.
    """

    def choose(question: ComparisonQuestion) -> Choice:
        value = text_hash(
            "mood", question.sentence_1, question.sentence_2, question.replicate
        )
        if value % 1000 < rate * 1000:
            return "invalid"
        return "sentence_1" if value & (1 << 40) else "sentence_2"

    return choose


SHORT = ExplicitSettings(
    seed=3, position="fixed", opponent_limit=2, panel_steps=0, patience=4, step_limit=12
)
LONG = ExplicitSettings(
    seed=9, opponent_limit=1, panel_steps=100, patience=30, step_limit=100
)


@pytest.mark.parametrize(
    ("options", "rate"), [(PUBLISHED, 0.0), (SHORT, 0.2), (LONG, 0.2), (SHORT, 0.7)]
)
def test_lockstep_fits_equal_fits_of_one_sentence_at_a_time(
    reference: Scale, options: ExplicitSettings, rate: float
) -> None:
    moods = ScriptedJudge(moody(rate), key="moody")
    panel: list[Judge] = [moods, *PANEL] if rate < 0.7 else [moods]
    sentences = sorted(set(invented_findings(40)["masked_sentence"]))[
        : max(6, scaled(25))
    ]
    ranking = reference.ranking
    fits = Fits(sentences, ranking, reference.examples, panel, options)
    fits.run()
    logged = fits.plays().groupby("sentence")
    for i, sentence in enumerate(sentences):
        plain = PlainFit(sentence, reference, panel, options)
        assert plain.run() == fits.stop[i]
        assert fits.answers[i, ..., Outcome.INVALID].sum() == plain.invalid
        assert fits.rank[i] == plain.log[-1][-1]
        for name in ("mu", "variance", "steps", "tried"):
            assert getattr(fits, name)[i] == pytest.approx(
                getattr(plain, name), abs=1e-9
            )
        rows = logged.get_group(i)
        assert rows["step"].tolist() == list(range(len(plain.log)))
        names = ["opponent", "draw_probability", "answers", "mu", "sigma", "rank"]
        played = pd.DataFrame(plain.log, index=rows.index, columns=names)
        nearly = {"check_dtype": False, "rtol": 0.0, "atol": 1e-9}
        shown = rows[names].set_axis(names, axis=1)
        pd.testing.assert_frame_equal(shown, played, **nearly)


def fit(
    findings: pd.DataFrame,
    stick: Stick,
    panel: Sequence[Judge] = PANEL,
    anchors: Sequence[Anchor] = tuple(published_anchors().anchors),
    options: ExplicitSettings = PUBLISHED,
) -> FitTables:
    hedges = hedge_phrases(findings, PANEL[0])
    return fit_pairs(findings, hedges, *stick, panel, anchors, options)


def fitted(
    rows: list[dict[str, object]], stick: Stick, panel: Sequence[Judge] = PANEL
) -> pd.DataFrame:
    frame = fit(findings_frame(rows), stick, panel).probabilities
    FITTED_PROBABILITIES.to_arrow(frame)
    return frame


ROWS = [finding(i, ent="edema", sent=f"{word} edema {place}.") for i, (word, place) in enumerate(
    (word, place)
    for word in ("Possible", "Likely", "There may be", "Suspected")
    for place in ("today", "again", "at the bases")
)]  # fmt: skip


@pytest.fixture(scope="module")
def fitted_together(stick: Stick) -> pd.DataFrame:
    """All of `ROWS` fitted together."""
    return fitted(ROWS, stick).set_index("finding_id")


@given(st.permutations(range(12)), st.integers(1, 12))
@examples(15)
def test_a_fit_does_not_depend_on_batch_composition_or_order(
    stick: Stick, fitted_together: pd.DataFrame, order: list[int], size: int
) -> None:
    fitted_part = fitted([ROWS[i] for i in order[:size]], stick).set_index("finding_id")
    pd.testing.assert_frame_equal(
        fitted_part.sort_index(), fitted_together.loc[fitted_part.index].sort_index()
    )


def test_identical_masked_sentences_are_fitted_and_logged_once(stick: Stick) -> None:
    ents = ["edema", "pneumonia", "edema", "mass"]
    rows = [finding(i, ent=ent, sent=f"Possible {ent}.") for i, ent in enumerate(ents)]
    judge = ScriptedJudge(lambda question: PANEL[0].compare([question])[0])
    tables = fit(findings_frame(rows), stick, [judge])
    fits = tables.probabilities
    assert fits["sentence_key"].nunique() == fits["mu"].nunique() == 1
    assert {len(judge.compared), judge.calls, len(tables.log)} == set(fits["answers"])


def test_the_log_changes_no_fit_and_no_sentence_is_logged(stick: Stick) -> None:
    marked = findings_frame([finding(9, ent="edema", sent="Possible edema, quokka.")])
    findings = pd.concat([invented_findings(8), marked])
    logged = fit(findings, stick)
    unlogged = PUBLISHED.model_copy(update={"fit_log": False})
    without_log = fit(findings, stick, options=unlogged)
    keys = set(logged.probabilities["sentence_key"])
    assert set(logged.log["sentence_key"]) == keys
    assert not any("quokka" in str(value) for value in logged.log.to_numpy().ravel())
    FIT_LOG.to_arrow(logged.log)
    assert without_log.log.empty
    pd.testing.assert_frame_equal(
        without_log.probabilities, logged.probabilities, check_exact=True
    )


def test_an_unmaskable_pair_takes_p_of_its_phrases(stick: Stick) -> None:
    unseen = {"masked_sentence": None, "mask_state": "not located"}
    judge = ScriptedJudge()
    rows = [
        finding(0, sent="Possible opacity or collapse.", **unseen),
        finding(1, sent="Opacity.", **unseen),
    ]
    frame = fitted(rows, stick, [judge])
    expected = 1.0 / (1.0 + math.exp(-0.08899 * ((22.9237 + 20.0270) / 2 - 24.89)))
    assert judge.compared == []
    assert frame["stop"].tolist() == ["not located"] * 2
    assert frame["p_source"].tolist() == ["phrase", "none"]
    assert frame["p"].tolist() == pytest.approx([expected, 0.5], abs=1e-3)
    ends = [math.log(p / (1.0 - p)) for p in frame.loc[0, ["p_low", "p_high"]]]
    # TrueSkill's beta is the error of mu; that of the anchors adds a little.
    assert ends[1] - ends[0] == pytest.approx(2 * 1.96 * 0.08899 * BETA, rel=0.05)
    assert frame[["p_low", "p_high"]].iloc[1].tolist() == [0.0, 1.0]
    assert frame["mu"].isna().all()
    assert frame["sentence_key"].tolist() == [""] * 2
    assert (frame[["steps", "answers", "invalid_answers"]] == 0).all(axis=None)


def test_ten_steps_without_a_valid_answer_leave_the_pair_unfitted(stick: Stick) -> None:
    frame = fitted([finding(0)], stick, [ScriptedJudge(lambda question: "invalid")])
    columns = ["stop", "steps", "answers", "invalid_answers", "p_source"]
    row = ["no valid answers", 10, 0, 10, "phrase"]
    assert frame[columns].to_numpy().tolist() == [row]
    assert frame[["mu", "sigma", "rank", "mu_centre", "mu_sd"]].isna().all(axis=None)


def test_where_the_published_scale_stands_in_opponents_show_bundled_sentences(
    stick: Stick, reference: Scale
) -> None:
    own = own_vocabulary({"likely": ["likely <finding>."]})
    examples_shown = phrase_examples(stick[1], own)
    shown = [texts.tolist() for texts in examples_shown.sentences]
    assert shown == [texts.tolist() for texts in reference.examples.sentences]


def test_unusable_anchors_are_found_before_any_judge_is_asked(stick: Stick) -> None:
    judge = ScriptedJudge()
    anchors = [Anchor("surely", 0.9, 0.8, 0.95)]
    with pytest.raises(MethodError, match="no anchor phrase 'surely'"):
        fit(findings_frame([finding(0)]), stick, [judge], anchors)
    assert judge.calls == 0


def test_a_phrase_without_any_valid_match_is_no_opponent(stick: Stick) -> None:
    vocabulary, ranking = stick
    own_ranking = ranking.assign(ruler="own", n_matches=100)
    # Where every sentence begins, it would be the first opponent.
    is_silent = own_ranking["phrase"] == "or"
    own_ranking.loc[is_silent, ["n_matches", "mu"]] = [0, 25.0]
    log = fit(invented_findings(8), (vocabulary, own_ranking)).log
    assert len(log) > 0
    assert "or" not in set(log["opponent"])
    heard = own_ranking.assign(n_matches=100)
    assert "or" in set(fit(invented_findings(8), (vocabulary, heard)).log["opponent"])


def test_sentences_of_the_same_scores_have_one_fit_and_their_own_logs(
    stick: Stick, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = mock.Mock(wraps=fitted_findings.Fits)
    monkeypatch.setattr(fitted_findings, "Fits", counted)
    rows = [finding(i, sent=f"Possible pneumonia on day {i}.") for i in range(4)]
    rows.append(finding(4, sent="Pneumonia is unlikely.", ent="Pneumonia"))
    tables = fit(findings_frame(rows), stick)
    assert sum(len(call.args[0]) for call in counted.call_args_list) == 2
    assert tables.probabilities["sentence_key"].nunique() == 5
    plays = tables.log.groupby("sentence_key").size()
    steps = tables.probabilities.set_index("sentence_key")["steps"]
    assert plays.to_dict() == steps.to_dict()
