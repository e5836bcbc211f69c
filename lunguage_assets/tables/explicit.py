"""Tables of the explicit half: from hedging phrases to a probability of each finding.

`docs/method/explicit.md` has the steps.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import (
    A_HASH,
    ENT,
    MASK_SHOWN,
    RULER,
    RULER_REASON,
    SAME_NAME,
    SENTENCE,
    STATED_ID,
    STUDY,
    code,
    ends,
    flag,
    integer,
    listed,
    number,
    optional_number,
    optional_probability,
    probability,
    restricted,
    text,
    whole,
)
from lunguage_assets.tables.schema import Table, Where

_CHOICES = ("sentence_1", "sentence_2")

HEDGE_PHRASES = Table(
    name="hedge_phrases",
    description=(
        "Words by which each tentative finding is hedged, and which pairs a person "
        "should look at."
    ),
    partitioned_by=("judge", "report_batch"),
    per_study=True,
    key=("finding_id",),
    columns=(
        STATED_ID,
        STUDY,
        ENT,
        SENTENCE,
        restricted(
            "masked_sentence",
            "Sentence with the finding masked; null when not located",
            nullable=True,
            pattern=MASK_SHOWN,
        ),
        listed(
            "phrases",
            "Hedging phrases about this finding, lower case, in order of appearance",
        ),
        listed(
            "dropped",
            "Extracted phrases that state a measurement, severity or onset, and were "
            "dropped",
        ),
        code(
            "answer_state",
            "Whether the extractor's answer could be read",
            ("valid", "invalid"),
        ),
        flag("corrected", "The corrections file overrides the extractor's answer"),
        flag("needs_review", "The pair is error-prone and nobody has reviewed it yet"),
        text(
            "review_reason",
            "Why a person should look (no phrase, not located...), joined by '; '",
        ),
    ),
)

HEDGE_VOCABULARY = Table(
    name="hedge_vocabulary",
    description=(
        "Hedging phrases with the sentences that show them; the retained ones are "
        "compared and ranked."
    ),
    partitioned_by=("judge",),
    key=("phrase",),
    columns=(
        text("phrase", "Hedging phrase, lower case"),
        integer("n_examples", "Times the phrase was extracted"),
        flag("retained", "The phrase is part of the reference scale"),
        text("reason", "Why a phrase is not retained, else empty"),
        listed("example_ids", "Finding ids of the usable examples, sorted"),
        listed(
            "example_sentences",
            "Masked sentences of the usable examples, as example_ids",
            restricted=True,
        ),
        replace(
            RULER,
            description="own: from this corpus; published: the paper's 42 phrases",
        ),
        RULER_REASON,
        text("vocabulary_version", "Hash of the retained phrases and their examples"),
    ),
    constant=("vocabulary_version",),
)

COMPARISON_MATCHES = Table(
    name="comparison_matches",
    description=(
        "Every answer of one judge: which of two masked sentences says more surely "
        "that the finding is present."
    ),
    partitioned_by=("judge",),
    key=("match_id",),
    columns=(
        text(
            "match_id",
            "Hash of phrases and repetition; the same for every judge",
            pattern=whole(A_HASH),
        ),
        text("phrase_a", "Phrase that comes first in the alphabet"),
        text("phrase_b", "Phrase that comes second"),
        integer("repetition", "0-based number of the comparison of this phrase pair"),
        restricted("sentence_a", "Masked example sentence of phrase_a"),
        restricted("sentence_b", "Masked example sentence of phrase_b"),
        flag("swapped", "phrase_b was shown as sentence_1"),
        code("answer", "What the judge said", (*_CHOICES, "invalid")),
        text(
            "winner",
            "Phrase judged more certain; null for an invalid answer",
            nullable=True,
        ),
        text("vocabulary_version", "Vocabulary that the match belongs to"),
    ),
    unique=(("phrase_a", "phrase_b", "repetition"),),
    constant=("vocabulary_version",),
    present=(Where("winner", "answer", _CHOICES),),
)

REFERENCE_RANKING = Table(
    name="reference_ranking",
    description=(
        "The reference scale: hedging phrases ranked from most to least certain by "
        "TrueSkill."
    ),
    partitioned_by=("ranker",),
    released="combined",
    key=("phrase",),
    columns=(
        text("phrase", "Hedging phrase"),
        integer("rank", "0 = most certain"),
        number(
            "mu",
            "TrueSkill mean over random orders (prior 25); beyond, ratings ran away",
            -15.0,
            65.0,
        ),
        number(
            "sigma",
            "TrueSkill deviation over random orders (a steady state, not an error bar)",
            0.0,
        ),
        number(
            "mu_sd",
            "Standard deviation of mu over the bootstrap of sentence pairs",
            0.0,
        ),
        *ends("mu", "the 95% interval of mu over the bootstrap", number),
        *ends("rank", "the 95% interval of the rank over the bootstrap", number),
        integer("n_matches", "Valid matches that the phrase played"),
        optional_probability(
            "win_rate",
            "Share of its valid matches that it won; null without matches",
        ),
        listed(
            "judges",
            "Judges of the ranker, in panel order: they fit, and made an own ranking",
        ),
        RULER,
        RULER_REASON,
        text("vocabulary_version", "Vocabulary that was ranked"),
        text(
            "ranking_version",
            "Hash of the matches, of who the judges are, and of the constants",
        ),
    ),
    ordered=(("mu_low", "mu_high"), ("rank_low", "rank_high")),
    unique=(("rank",),),
    constant=("ranking_version",),
)

FITTED_PROBABILITIES = Table(
    name="fitted_probabilities",
    description=(
        "Every tentative finding placed in the ranking, with its probability and "
        "interval."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    released="combined",
    key=("finding_id",),
    columns=(
        STATED_ID,
        STUDY,
        listed("phrases", "Hedging phrases extracted for the pair"),
        text(
            "sentence_key",
            "Hash of the masked sentence: identical ones are fitted once; empty when "
            "unmaskable",
            pattern=whole(A_HASH, or_empty=True),
        ),
        SAME_NAME,
        optional_number("mu", "Fitted position on the ranking; null when not fitted"),
        optional_number(
            "sigma",
            "Deviation that the fit states, no error bar; null when not fitted",
            0.0,
        ),
        integer(
            "rank",
            "Reference phrases above it (0-based); null when not fitted",
            nullable=True,
        ),
        integer(
            "steps",
            "Opponents played",
            maximum=110,
        ),
        integer("answers", "Valid answers used"),
        integer("invalid_answers", "Invalid answers left out"),
        code(
            "stop",
            "Why the fit ended",
            (
                "stable rank",
                "step limit",
                "no opponent left",
                "no valid answers",
                "not located",
            ),
        ),
        optional_number(
            "mu_centre",
            "Mean place given all answers at once, the interval's centre",
        ),
        optional_number("mu_sd", "Deviation of that place; null when not fitted", 0.0),
        probability("p", "Probability that the finding is present"),
        *ends("p", "the 95% interval of p"),
        code(
            "p_source",
            "fitted, from the phrases' mean mu, or no information",
            ("fitted", "phrase", "none"),
        ),
        RULER,
        text("ranking_version", "Ranking that the fit was made with"),
    ),
    ordered=(("p_low", "p", "p_high"),),
    present=tuple(Where(name, "p_source", ("fitted",)) for name in ("mu", "mu_sd")),
    constant=("ranking_version",),
)

FIT_LOG = Table(
    name="fit_log",
    description=(
        "Every play of every fit: which phrase a sentence met, what judges said, "
        "and where it stood then."
    ),
    partitioned_by=("ranker", "report_batch"),
    key=("sentence_key", "step"),
    columns=(
        text(
            "sentence_key",
            "Hash of the masked sentence, as in fitted_probabilities",
            pattern=whole(A_HASH),
        ),
        integer(
            "step", "0-based number of the play, those without a valid answer included"
        ),
        text("opponent", "Reference phrase that was played"),
        probability("draw_probability", "How even the play was expected to be"),
        text(
            "answers",
            "What each judge said: 'judge=won', 'judge=lost' or 'judge=invalid', in "
            "panel order",
        ),
        number("mu", "Place after the play"),
        number("sigma", "Deviation after the play", 0.0),
        integer("rank", "Reference phrases above the place after the play (0-based)"),
    ),
)

DISTILLED_SCORER = Table(
    name="distilled_scorer",
    description=(
        "The small model that learnt the judgement of a ranker's judges: how well it "
        "says what they say, of sentences that it had not seen."
    ),
    partitioned_by=("ranker",),
    key=("test",),
    columns=(
        code(
            "test",
            "What was held out; panel: its own deviation, by its answers",
            ("held-out sentences", "held-out phrases", "panel"),
        ),
        integer("n", "Sentences"),
        optional_number("rmse", "Of mu; null without a sentence", 0.0),
        optional_number("spearman", "Rank correlation of mu", -1.0, 1.0),
        optional_probability(
            "coverage",
            "Share of the panel's places in the model's 95% interval",
        ),
        text("encoder", "Name and exact revision of the encoder"),
        integer("sentences", "Different masked sentences that the panel has fitted"),
        text(
            "files",
            "SHA-256 of what was learnt: distilled/<ranker>/<it>.safetensors in "
            "the home",
            pattern=whole(A_HASH),
        ),
    ),
    constant=("encoder", "sentences", "files"),
)
