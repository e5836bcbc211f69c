"""The chain from comparisons to probabilities, tested on people: `python
benchmarks/people.py [--quick]`.

5,174 people said of two phrases at a time which is the more probable, and gave a number
for each of the 19 phrases (resources/people/README.md). Their choices are taken as one
judge's matches and go through the
functions of a run: ranking with ten random orders, bootstrap, two anchors, p with its
    interval. Only the anchors take their p from the numbers. What the chain says of the
    other 17 phrases is held against what the same people said in numbers.

Prints rank correlation, error of p by phrase, coverage of the intervals, how they
depend on the number of comparisons and on the choice of the anchors, the straight line
beside the sigmoid, position bias, how far people lie apart beside the range of another
reader, and the published ranking beside other people's numbers. `--quick` leaves out
what depends on the number of comparisons, which takes most of the time.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logit, ndtri

from lunguage_assets.corpus.whole_tables import edited_table
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.agreement import judge_agreement
from lunguage_assets.explicit.probability import (
    Z95,
    Anchor,
    CalibrationError,
    calibrate,
    probability,
    published_anchors,
    reader_range,
)
from lunguage_assets.explicit.ranking import reference_ranking
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.packaged_data import resource
from lunguage_assets.randomness import digest
from lunguage_assets.release.phrase_scale import phrase_scale
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, HEDGE_PHRASES

FOLDER = resource("people")
COMPARISON_COLUMNS = ("shown_first", "shown_second", "comparisons", "first_chosen")
PEOPLE = "people"
"""The judge: all people together, of whom each was asked ten questions."""

ANCHORS = ("unlikely", "likely")
"""The two phrases about which clinicians agree best (Clinical Radiology 2014: 15 to 20
points).
"""

NAMES_ITS_NUMBER = ("about even", "better than even")
"""Phrases about whose number there is no doubt."""
NEAREST = 0.005
"""Numbers of 0 and 100 count as this far from the end: no reader's certainty is
infinite.
"""
NEIGHBOURHOOD = 0.5
"""Logits over which the spread of neighbouring phrases is pooled, as the deviation of a
normal weight. With each phrase left out in turn, 0.4 to 0.8 predict its spread equally
well; less follows single phrases, more loses the difference between "may" and "likely".
"""
SIZES = (300, 1_000, 3_000, 10_000)
DRAWS = 10
"""Random subsets of the comparisons for each size."""

PUBLISHED_SCALES = Path(__file__).with_name("published_scales.csv")
"""Means that groups of people gave for phrases, in hundredths, with their source."""

HELD_EQUAL = 4.0
"""Two phrases count as held equal where their means differ by fewer points. By so many
differ two groups of people about "probable" alone.
"""

CLINICIANS_POINTS = 40.0
"""Median of the inter-decile ranges of 20 expressions (Clinical Radiology 2014), the
same everywhere.
"""


def read_comparisons(path: Path) -> pd.DataFrame:
    """Read how often one phrase was chosen over another.

    Returns:
        `shown_first` and `shown_second` in lower case, `comparisons`, and of these
        `first_chosen`.

    Raises:
        InputError: a missing column, a count that is none, or more choices than
            comparisons.
    """
    rows = []
    for row_number, cells in edited_table(path, COMPARISON_COLUMNS).iterrows():
        counts = cells["comparisons"], cells["first_chosen"]
        if not all(count.isdecimal() for count in counts):
            remedy = "Fix the row."
            raise InputError(
                path.name,
                "no counts",
                "two whole numbers",
                remedy,
                row=row_number,
            )
        comparisons, first_chosen = map(int, counts)
        if first_chosen > comparisons:
            fault = "more choices than comparisons"
            expected = "first_chosen <= comparisons"
            raise InputError(path.name, fault, expected, "Fix the row.", row=row_number)
        phrases = cells["shown_first"].lower(), cells["shown_second"].lower()
        rows.append((*phrases, comparisons, first_chosen))
    return pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS))


def people_vocabulary(phrases: Collection[str]) -> pd.DataFrame:
    """The `HEDGE_VOCABULARY` of phrases that were shown alone: the phrase is its only
    sentence.
    """
    extracted = [
        {
            "finding_id": phrase,
            "study_id": phrase,
            "ent": "event",
            "sent": phrase,
            "masked_sentence": phrase,
            "phrases": [phrase],
            "dropped": [],
            "answer_state": "valid",
            "corrected": False,
            "needs_review": False,
            "review_reason": "",
        }
        for phrase in sorted(phrases)
    ]
    settings = ExplicitSettings(reference_scale="own", minimum_examples=1)
    return hedge_vocabulary(HEDGE_PHRASES.frame(extracted), settings)


def people_matches(comparisons: pd.DataFrame, vocabulary: pd.DataFrame) -> pd.DataFrame:
    """Every comparison as a match, a `COMPARISON_MATCHES` frame.

    Args:
        comparisons: as `read_comparisons` returns them.
        vocabulary: of their phrases, as `people_vocabulary` makes it.
    """
    version = str(vocabulary["vocabulary_version"].iloc[0])
    rows = []
    for cell in comparisons.itertuples(index=False):
        phrase_a, phrase_b = sorted((cell.shown_first, cell.shown_second))
        swapped = cell.shown_first == phrase_b
        for number in range(cell.comparisons):
            is_first = number < cell.first_chosen
            # Both orders of a pair count their repetitions from 0: even numbers for
            # one, odd for the other.
            repetition = 2 * number + swapped
            rows.append(
                {
                    "match_id": digest(phrase_a, phrase_b, repetition)[:24],
                    "phrase_a": phrase_a,
                    "phrase_b": phrase_b,
                    "repetition": repetition,
                    "sentence_a": phrase_a,
                    "sentence_b": phrase_b,
                    "swapped": swapped,
                    "answer": "sentence_1" if is_first else "sentence_2",
                    "winner": cell.shown_first if is_first else cell.shown_second,
                    "vocabulary_version": version,
                }
            )
    return COMPARISON_MATCHES.frame(rows)


def people_numbers(path: Path) -> pd.DataFrame:
    """Numbers that people gave for phrases: `phrase` in lower case, `people`, and mean,
    deviation and quantiles in shares.
    """
    numbers = pd.read_csv(path, float_precision="round_trip")
    shares = numbers.columns.drop(["phrase", "people"])
    numbers[shares] = numbers[shares] / 100.0
    return numbers.assign(phrase=numbers["phrase"].str.lower())


def spread_of_numbers(
    numbers: pd.DataFrame,
    left_out: Collection[str] = NAMES_ITS_NUMBER,
    positions: int = 40,
) -> pd.DataFrame:
    """How readers differ by position, from the middle 80% of people: what
    `resources/people/reader_spread.csv` holds.

    Args:
        numbers: as `people_numbers` returns them.
        left_out: phrases that do not count.
        positions: how many, evenly spaced in logits.
    """
    hedges = numbers[~numbers["phrase"].isin(left_out)]
    shares = hedges[["p10", "mean", "p90"]].clip(NEAREST, 1.0 - NEAREST)
    lowest_tenth, middle, highest_tenth = logit(shares.to_numpy()).T
    # Both sides count from the mean, because p is one: people who take "improbable" for
    # nearly impossible are further below it than anybody is above.
    below = np.maximum(middle - lowest_tenth, 0.0) / ndtri(0.9)
    above = np.maximum(highest_tenth - middle, 0.0) / ndtri(0.9)
    position = np.linspace(middle.min(), middle.max(), positions)
    distance = (position[:, None] - middle) / NEIGHBOURHOOD
    weights = np.exp(-0.5 * distance**2)
    weights /= weights.sum(axis=1, keepdims=True)
    spread = {
        "logit_p": position,
        "below": np.sqrt(weights @ below**2),
        "above": np.sqrt(weights @ above**2),
    }
    return pd.DataFrame(spread).round(4)


def people_anchors(
    numbers: pd.DataFrame,
    phrases: Sequence[str] = ANCHORS,
) -> list[Anchor]:
    """Anchors at people's mean numbers, with the 95% interval of the mean.

    Args:
        numbers: as `people_numbers` returns them.
        phrases: the anchors' phrases.
    """
    by_phrase = numbers.set_index("phrase")
    anchors = []
    for phrase in phrases:
        mean = float(by_phrase.at[phrase, "mean"])
        people = float(by_phrase.at[phrase, "people"])
        error = float(by_phrase.at[phrase, "sd"]) / people**0.5
        anchors.append(Anchor(phrase, mean, mean - Z95 * error, mean + Z95 * error))
    return anchors


@dataclass(frozen=True)
class ChainResult:
    """What the chain says of every phrase, and what people say.

    `phrases` has a row per phrase from the most certain: phrase, mu, p, p_low, p_high,
    straight (p on the straight line through the anchors), people (their mean number),
    is_anchor.
    """

    phrases: pd.DataFrame

    @property
    def others(self) -> pd.DataFrame:
        """The phrases that are no anchor."""
        return self.phrases[~self.phrases["is_anchor"]]

    @property
    def rank_correlation(self) -> float:
        """Spearman's, of mu with people's numbers, over all phrases."""
        return float(self.phrases["mu"].corr(self.phrases["people"], method="spearman"))

    @property
    def mean_error(self) -> float:
        """Mean distance of p from people's mean number, over the phrases that are no
        anchor.
        """
        return float((self.others["p"] - self.others["people"]).abs().mean())

    @property
    def straight_error(self) -> float:
        """The same of the straight line."""
        return float((self.others["straight"] - self.others["people"]).abs().mean())

    @property
    def coverage(self) -> float:
        """Share of the other phrases whose interval holds people's mean number."""
        people = self.others["people"]
        return float(people.between(self.others["p_low"], self.others["p_high"]).mean())

    @property
    def width(self) -> float:
        """Mean width of their intervals."""
        return float((self.others["p_high"] - self.others["p_low"]).mean())


@dataclass(frozen=True)
class PeopleSet:
    """The two halves of the set: choices as matches of a vocabulary, and numbers."""

    vocabulary: pd.DataFrame
    matches: pd.DataFrame
    numbers: pd.DataFrame

    @classmethod
    def read(cls, folder: Path = FOLDER) -> PeopleSet:
        numbers = people_numbers(folder / "people_numbers.csv")
        vocabulary = people_vocabulary(numbers["phrase"].tolist())
        comparisons = read_comparisons(folder / "people_comparisons.csv")
        return cls(vocabulary, people_matches(comparisons, vocabulary), numbers)

    def ranking(
        self,
        matches: pd.DataFrame,
        settings: ExplicitSettings,
    ) -> pd.DataFrame:
        """The `REFERENCE_RANKING` of some of the matches."""
        return reference_ranking(self.vocabulary, {PEOPLE: matches}, settings)

    def result(
        self,
        ranking: pd.DataFrame,
        phrases: Sequence[str] = ANCHORS,
    ) -> ChainResult:
        """p of every phrase of a ranking through two anchors, beside people's numbers.

        Args:
            ranking: a `REFERENCE_RANKING` frame.
            phrases: the anchors' phrases.

        Raises:
            CalibrationError: the anchors give no rising line.
        """
        anchors = people_anchors(self.numbers, phrases)
        mu = ranking["mu"].to_numpy(dtype=np.float64)
        line = calibrate(ranking, anchors)
        p, low, high = probability(mu, np.zeros_like(mu), line)
        mean_by_phrase = self.numbers.set_index("phrase")["mean"]
        anchor_p = [anchor.probability for anchor in anchors]
        first, second = line.anchors["mu"]
        slope = (anchor_p[1] - anchor_p[0]) / (second - first)
        straight = anchor_p[0] + slope * (mu - first)
        compared = ranking[["phrase", "mu"]].assign(
            p=p,
            p_low=low,
            p_high=high,
            straight=straight,
            people=ranking["phrase"].map(mean_by_phrase),
            is_anchor=ranking["phrase"].isin(phrases),
        )
        return ChainResult(compared)


def by_size(people: PeopleSet, sizes: Sequence[int], draws: int) -> pd.DataFrame:
    """How the results depend on the number of comparisons, a row per size.

    Args:
        people: the whole set.
        sizes: numbers of comparisons, drawn without replacement.
        draws: random subsets for each size; the seed of the ranking differs with them.
    """
    rows = []
    for size in sizes:
        results = []
        for seed in range(draws):
            drawn = people.matches.sample(size, random_state=seed)
            ranking = people.ranking(drawn, ExplicitSettings(seed=seed))
            results.append(people.result(ranking))
        rows.append(
            {
                "comparisons": size,
                "rank correlation": np.mean(
                    [result.rank_correlation for result in results]
                ),
                "lowest": min(result.rank_correlation for result in results),
                "error of p": np.mean([result.mean_error for result in results]),
                "highest": max(result.mean_error for result in results),
                "coverage": np.mean([result.coverage for result in results]),
                "width": np.mean([result.width for result in results]),
            }
        )
    return pd.DataFrame(rows)


def by_anchors(people: PeopleSet, ranking: pd.DataFrame) -> pd.DataFrame:
    """Error of p through every two phrases as anchors, the smallest first; inf where
    they give no line.
    """
    phrases = people.numbers["phrase"].tolist()
    rows = []
    for low, high in combinations(phrases, 2):
        try:
            error = people.result(ranking, (low, high)).mean_error
        except CalibrationError:
            error = np.inf
        rows.append({"anchors": f"{low}, {high}", "error of p": error})
    errors = pd.DataFrame(rows).sort_values("error of p", kind="stable")
    return errors.reset_index(drop=True)


def reader_ranges(numbers: pd.DataFrame) -> pd.DataFrame:
    """The middle 80% of people, and what two spreads say of another reader, a row per
    phrase.

    Args:
        numbers: as `people_numbers` returns them.

    Returns:
        Ends in shares: `p10`, `p90` as people have them; `by_position_*` from the other
            phrases' people, the row's own left out; `everywhere_*` with the clinicians'
            40 points at every position.
    """
    sd = float(logit(0.5 + CLINICIANS_POINTS / 200.0) / ndtri(0.9))
    everywhere = pd.DataFrame({"logit_p": [0.0], "below": sd, "above": sd})
    hedges = numbers[~numbers["phrase"].isin(NAMES_ITS_NUMBER)]
    rows = []
    for phrase in hedges["phrase"]:
        row = hedges[hedges["phrase"] == phrase].iloc[0]
        left_out = (*NAMES_ITS_NUMBER, phrase)
        by_position = spread_of_numbers(numbers, left_out)
        rows.append(
            {
                "phrase": phrase,
                "mean": row["mean"],
                "p10": row["p10"],
                "p90": row["p90"],
                **_middle_80(row["mean"], by_position, "by_position"),
                **_middle_80(row["mean"], everywhere, "everywhere"),
            }
        )
    return pd.DataFrame(rows)


def _middle_80(p: float, spread: pd.DataFrame, name: str) -> dict[str, float]:
    low, high = reader_range(p, p, p, share=0.8, spread=spread)
    return {f"{name}_low": float(low), f"{name}_high": float(high)}


def range_error(ranges: pd.DataFrame, name: str) -> float:
    """Mean distance of both ends of a range from the middle 80% of people, of
    `reader_ranges`.
    """
    below = (ranges[f"{name}_low"] - ranges["p10"]).abs()
    above = (ranges[f"{name}_high"] - ranges["p90"]).abs()
    return float((below.mean() + above.mean()) / 2.0)


def packaged_ranges() -> pd.DataFrame:
    """What the packaged spread says of another reader at every tenth of p, in points of
    a hundred where named so; p itself is taken as known.
    """
    p = np.arange(1, 10) / 10.0
    low_80, high_80 = reader_range(p, p, p, share=0.8)
    low_95, high_95 = reader_range(p, p, p)
    return pd.DataFrame(
        {
            "p": p,
            "80% from": low_80,
            "80% to": high_80,
            "points": 100.0 * (high_80 - low_80),
            "95% from": low_95,
            "95% to": high_95,
        }
    )


def published_beside_people() -> pd.DataFrame:
    """p of the published ranking's phrases beside the numbers of published scales.

    A row per phrase, source and group of people, in points of a hundred.

    The anchors are left out: there p is what raters said.
    """
    settings = ExplicitSettings()
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), settings)
    ranking = reference_ranking(vocabulary, {"nobody": pd.DataFrame()}, settings)
    scale = phrase_scale(ranking, published_anchors().anchors)
    scale = scale.loc[~scale["is_anchor"].astype(bool), ["phrase", "p"]]
    compared = scale.merge(pd.read_csv(PUBLISHED_SCALES), on="phrase")
    compared["p"] *= 100.0
    return compared.assign(distance=(compared["p"] - compared["mean"]).abs())


def widest_gap(compared: pd.DataFrame) -> tuple[str, str] | None:
    """The two phrases that all people who rated both hold equal, and whose p lie
    furthest apart, the higher first; None where there are none.

    Args:
        compared: as `published_beside_people` returns it.
    """
    means = compared.pivot(index="phrase", columns=["source", "group"], values="mean")
    p_by_phrase = compared.groupby("phrase")["p"].first().to_dict()
    gaps = {}
    for first, second in combinations(means.index, 2):
        between_means = (means.loc[first] - means.loc[second]).abs().dropna()
        if len(between_means) and (between_means < HELD_EQUAL).all():
            pair = sorted((first, second), key=p_by_phrase.__getitem__, reverse=True)
            gaps[tuple(pair)] = p_by_phrase[pair[0]] - p_by_phrase[pair[1]]
    return max(gaps, key=gaps.__getitem__, default=None)


def report(
    people: PeopleSet,
    result: ChainResult,
    ranking: pd.DataFrame,
) -> Iterator[str]:
    """All figures of the whole set, part by part.

    Args:
        people: the whole set.
        result: what the chain says of every phrase.
        ranking: from which it says so.
    """
    number_count = int(people.numbers["people"].sum())
    yield f"{len(people.matches):,} comparisons, {number_count:,} numbers"
    yield (
        f"rank correlation {result.rank_correlation:.3f}, error of p {result.mean_error:.3f} "
        f"(straight line {result.straight_error:.3f}), coverage {result.coverage:.2f} of "
        f"{len(result.others)} phrases that are no anchor ({', '.join(ANCHORS)})"
    )
    errors_by_phrase = result.phrases.assign(
        error=result.phrases["p"] - result.phrases["people"]
    )
    yield errors_by_phrase.round(3).to_string(index=False)
    anchors = by_anchors(people, ranking)
    chosen = anchors.index[anchors["anchors"] == ", ".join(ANCHORS)][0]
    yield (
        f"anchors: {len(anchors)} pairs, median error {anchors['error of p'].median():.3f}; "
        f"{', '.join(ANCHORS)} is number {chosen + 1}; the best and the worst:"
    )
    yield pd.concat([anchors.head(4), anchors.tail(4)]).round(3).to_string(index=False)
    agreement = judge_agreement({PEOPLE: people.matches})
    bias = agreement[agreement["measure"] == "sentence_1 chosen"].iloc[0]
    yield f"first shown chosen: {bias['value']:.4f} ({bias['low']:.4f} to {bias['high']:.4f})"
    source = tomllib.loads((FOLDER / "source.toml").read_text(encoding="utf-8"))
    yield (
        "one person's choice agrees with that person's own numbers: "
        f"{source['published']['choices_like_own_numbers']} (from the source, not from these tables)"
    )
    ranges = reader_ranges(people.numbers)
    yield (
        "another reader, middle 80%: ends off by "
        f"{range_error(ranges, 'by_position'):.3f} by position (each phrase left out), "
        f"{range_error(ranges, 'everywhere'):.3f} with {CLINICIANS_POINTS:g} points everywhere"
    )
    yield ranges.round(2).to_string(index=False)
    yield packaged_ranges().round(2).to_string(index=False)
    compared = published_beside_people()
    yield (
        f"the published ranking is {compared['distance'].mean():.0f} points from "
        f"people's means, over {len(compared)} of them; the widest gap between phrases "
        f"that they hold equal: {', '.join(widest_gap(compared) or ('none',))}"
    )
    yield compared.drop(columns="source").round(1).to_string(index=False)


def main(arguments: Sequence[str]) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--quick", action="store_true", help="leave out fewer comparisons"
    )
    chosen = options.parse_args(arguments)
    people = PeopleSet.read()
    ranking = people.ranking(people.matches, ExplicitSettings())
    for section in report(people, people.result(ranking), ranking):
        print(section, end="\n\n", flush=True)
    if not chosen.quick:
        print(by_size(people, SIZES, DRAWS).round(3).to_string(index=False))
        print(f"and all {len(people.matches):,} with {DRAWS} other seeds:")
        print(
            by_size(people, (len(people.matches),), DRAWS)
            .round(3)
            .to_string(index=False)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
