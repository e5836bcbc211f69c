"""Tables of the explicit half: from hedging phrases to a probability per tentative finding."""

from __future__ import annotations

from lunguage_assets.tables.columns import A_HASH, MASK_SHOWN, STATED_ID, STUDY, probability, text, whole
from lunguage_assets.tables.schema import Column, Present, Table

HEDGE_PHRASES = Table(
    "hedge_phrases",
    "Words by which each tentative finding is hedged in its "
    "sentence, and which pairs a person should look at.",
    (
        STATED_ID,
        STUDY,
        text("ent", "Finding as the report words it"),
        text("sent", "Sentence of the report", restricted=True),
        text(
            "masked_sentence",
            "Sentence with the finding masked; null when not located",
            restricted=True,
            nullable=True,
            pattern=MASK_SHOWN,
        ),
        Column(
            "phrases", "strings", "Hedging phrases about this finding, lower case, in order of appearance"
        ),
        Column(
            "dropped",
            "strings",
            "Extracted phrases that the filters dropped (they state a measurement, severity or onset)",
        ),
        Column(
            "answer_state",
            "string",
            "Whether the extractor's answer could be read",
            choices=("valid", "invalid"),
        ),
        Column("corrected", "bool", "The corrections file overrides the extractor's answer"),
        Column("needs_review", "bool", "The pair is error-prone and nobody has reviewed it yet"),
        text(
            "review_reason",
            "Why a person should look: several phrases, no "
            "phrase, same name twice, not located, invalid answer",
        ),
    ),
    ("finding_id",),
)

HEDGE_VOCABULARY = Table(
    "hedge_vocabulary",
    "Hedging phrases with the sentences that show them; the "
    "retained ones (ten examples or more) are compared and ranked.",
    (
        text("phrase", "Hedging phrase, lower case"),
        Column("n_examples", "int", "Times the phrase was extracted", minimum=0),
        Column("retained", "bool", "The phrase is part of the measuring stick"),
        text("reason", "Why a phrase is not retained, else empty"),
        Column("example_ids", "strings", "Finding ids of the usable examples, sorted"),
        Column(
            "example_sentences",
            "strings",
            "Masked sentences of the usable examples, in the order of example_ids",
            restricted=True,
        ),
        Column(
            "ruler",
            "string",
            "own: from this corpus; published: the paper's 42 phrases",
            choices=("own", "published"),
        ),
        text("vocabulary_version", "Hash of the retained phrases and their examples"),
    ),
    ("phrase",),
    constant=("vocabulary_version",),
)

COMPARISON_MATCHES = Table(
    "comparison_matches",
    "Every answer of one judge: which of two masked sentences is closer to 'finding certainly present'. "
    "Empty for the published ruler.",
    (
        text("match_id", "Hash of phrases and repetition; the same for every judge", pattern=whole(A_HASH)),
        text("phrase_a", "Phrase that comes first in the alphabet"),
        text("phrase_b", "Phrase that comes second"),
        Column("repetition", "int", "0-based number of the comparison of this phrase pair", minimum=0),
        text("sentence_a", "Masked example sentence of phrase_a", restricted=True),
        text("sentence_b", "Masked example sentence of phrase_b", restricted=True),
        Column("swapped", "bool", "phrase_b was shown as sentence_1"),
        Column("answer", "string", "What the judge said", choices=("sentence_1", "sentence_2", "invalid")),
        text("winner", "Phrase judged more certain; null for an invalid answer", nullable=True),
        text("vocabulary_version", "Vocabulary that the match belongs to"),
    ),
    ("match_id",),
    unique=(("phrase_a", "phrase_b", "repetition"),),
    constant=("vocabulary_version",),
    present=(Present("winner", "answer", ("sentence_1", "sentence_2")),),
)

REFERENCE_RANKING = Table(
    "reference_ranking",
    "The measuring stick: hedging phrases ranked from most to least certain by TrueSkill.",
    (
        text("phrase", "Hedging phrase"),
        Column("rank", "int", "0 = most certain", minimum=0),
        Column(
            "mu",
            "float",
            "TrueSkill mean, averaged over random orders (prior 25); beyond these ends ratings have run away",
            minimum=-15.0,
            maximum=65.0,
        ),
        Column(
            "sigma",
            "float",
            "TrueSkill deviation, averaged over random orders (a steady state, not an error bar)",
            minimum=0.0,
        ),
        Column(
            "mu_sd", "float", "Standard deviation of mu over the bootstrap of sentence pairs", minimum=0.0
        ),
        Column("mu_low", "float", "2.5% quantile of mu over the bootstrap"),
        Column("mu_high", "float", "97.5% quantile of mu over the bootstrap"),
        Column("rank_low", "float", "2.5% quantile of the rank over the bootstrap"),
        Column("rank_high", "float", "97.5% quantile of the rank over the bootstrap"),
        Column(
            "mu_order_free",
            "float",
            "Place given all matches at once (probit MAP), a cross-check; null for the published ruler",
            nullable=True,
        ),
        Column(
            "sd_order_free",
            "float",
            "Posterior deviation of mu_order_free, answers taken as independent",
            nullable=True,
            minimum=0.0,
        ),
        Column(
            "reading_sd",
            "float",
            "How far judges lie apart in reading one sentence, in units of mu: estimated from the matches, "
            "or the default of resources/readings.toml for a single judge and for the published ruler",
            minimum=0.0,
        ),
        Column("n_matches", "int", "Valid matches that the phrase played", minimum=0),
        Column(
            "win_rate",
            "float",
            "Share of its valid matches that it won; null without matches",
            nullable=True,
            minimum=0.0,
            maximum=1.0,
        ),
        Column(
            "judges",
            "strings",
            "Judges of the ranker, in panel order: they fit, and with an own ruler they made the ranking",
        ),
        Column("ruler", "string", "own or published", choices=("own", "published")),
        text("vocabulary_version", "Vocabulary that was ranked"),
        text("ranking_version", "Hash of the matches, of who the judges are, and of the constants"),
    ),
    ("phrase",),
    ordered=(("mu_low", "mu_high"), ("rank_low", "rank_high")),
    unique=(("rank",),),
    constant=("reading_sd", "ranking_version"),
)

FITS = ("paper", "economy")

FITTED_PROBABILITIES = Table(
    "fitted_probabilities",
    "Every tentative finding placed in the ranking and mapped to "
    "a probability that the finding is present, with an interval.",
    (
        STATED_ID,
        STUDY,
        Column("phrases", "strings", "Hedging phrases extracted for the pair"),
        text(
            "sentence_key",
            "Hash of the masked sentence: identical masked sentences are fitted once; empty when unmaskable",
            pattern=whole(A_HASH, or_empty=True),
        ),
        Column(
            "same_name_in_sentence",
            "bool",
            "Another finding of the same name masks this sentence identically",
        ),
        Column("mu", "float", "Fitted position on the ranking; null when not fitted", nullable=True),
        Column(
            "sigma",
            "float",
            "Deviation that the fit states, no error bar in the paper's; null when not fitted",
            nullable=True,
            minimum=0.0,
        ),
        Column(
            "rank",
            "int",
            "Reference phrases above it (0-based); null when not fitted",
            nullable=True,
            minimum=0,
        ),
        Column("steps", "int", "Opponents played", minimum=0, maximum=110),
        Column("answers", "int", "Valid answers used", minimum=0),
        Column("invalid_answers", "int", "Invalid answers left out", minimum=0),
        Column(
            "stop",
            "string",
            "Why the fit ended",
            choices=(
                "stable rank",
                "step limit",
                "no opponent left",
                "no valid answers",
                "narrow posterior",
                "round limit",
                "not located",
            ),
        ),
        Column("fit", "string", "Which fit was asked for: the paper's, or the economical one", choices=FITS),
        Column(
            "mu_centre",
            "float",
            "Mean of the place given all answers at once, around which the interval is made",
            nullable=True,
        ),
        Column(
            "mu_sd",
            "float",
            "Deviation of the place given all answers at once; null when not fitted",
            nullable=True,
            minimum=0.0,
        ),
        probability("p", "Probability that the finding is present"),
        probability("p_low", "Lower end of the 95% interval of p"),
        probability("p_high", "Upper end of the 95% interval of p"),
        Column(
            "p_source",
            "string",
            "fitted, from the phrases' mean mu, or no information",
            choices=("fitted", "phrase", "none"),
        ),
        Column("ruler", "string", "own or published", choices=("own", "published")),
        text("ranking_version", "Ranking that the fit was made with"),
    ),
    ("finding_id",),
    ordered=(("p_low", "p", "p_high"),),
    present=tuple(Present(name, "p_source", ("fitted",)) for name in ("mu", "mu_sd")),
    constant=("ranking_version",),
)

FIT_LOG = Table(
    "fit_log",
    "Every play of every fit: which phrase a sentence met, what "
    "the judges said, and where the sentence stood afterwards.",
    (
        text(
            "sentence_key", "Hash of the masked sentence, as in fitted_probabilities", pattern=whole(A_HASH)
        ),
        Column("step", "int", "0-based number of the play, those without a valid answer included", minimum=0),
        Column(
            "round", "int", "0-based number of the round; in the paper's fit a round is a step", minimum=0
        ),
        text("opponent", "Reference phrase that was played"),
        probability(
            "draw_probability", "How even the play was expected to be: draw probability before the round"
        ),
        text(
            "answers",
            "What each judge said of the sentence, 'judge=won', "
            "'judge=lost' or 'judge=invalid', in panel order",
        ),
        Column("mu", "float", "Place after the round"),
        Column("sigma", "float", "Deviation after the round", minimum=0.0),
        Column("rank", "int", "Reference phrases above the place after the round (0-based)", minimum=0),
    ),
    ("sentence_key", "step"),
)
