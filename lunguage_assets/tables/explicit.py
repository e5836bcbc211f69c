"""Tables of the explicit half: from hedging phrases to a probability per tentative finding."""

from __future__ import annotations

from lunguage_assets.tables import columns as c
from lunguage_assets.tables.columns import code, flag, integer, listed, number, probability, text, whole
from lunguage_assets.tables.schema import Present, Table

HEDGE_PHRASES = Table(
    "hedge_phrases",
    "Words by which each tentative finding is hedged in its sentence, and which pairs a person should look "
    "at.",
    (
        c.STATED_ID,
        c.STUDY,
        c.ENT,
        c.SENTENCE,
        text("masked_sentence", "Sentence with the finding masked; null when not located", restricted=True,
            nullable=True, pattern=c.MASK_SHOWN),
        listed("phrases", "Hedging phrases about this finding, lower case, in order of appearance"),
        listed("dropped", "Extracted phrases that the filters dropped (they state a measurement, severity or "
            "onset)"),
        code("answer_state", "Whether the extractor's answer could be read", ("valid", "invalid")),
        flag("corrected", "The corrections file overrides the extractor's answer"),
        flag("needs_review", "The pair is error-prone and nobody has reviewed it yet"),
        text("review_reason", "Why a person should look: several phrases, no phrase, same name twice, not "
            "located, invalid answer"),
    ),
    ("finding_id",),
)  # fmt: skip

HEDGE_VOCABULARY = Table(
    "hedge_vocabulary",
    "Hedging phrases with the sentences that show them; the retained ones (ten examples or more) are "
    "compared and ranked.",
    (
        text("phrase", "Hedging phrase, lower case"),
        integer("n_examples", "Times the phrase was extracted"),
        flag("retained", "The phrase is part of the reference scale"),
        text("reason", "Why a phrase is not retained, else empty"),
        listed("example_ids", "Finding ids of the usable examples, sorted"),
        listed("example_sentences", "Masked sentences of the usable examples, in the order of example_ids",
            restricted=True),
        code("ruler", "own: from this corpus; published: the paper's 42 phrases", ("own", "published")),
        c.RULER_REASON,
        text("vocabulary_version", "Hash of the retained phrases and their examples"),
    ),
    ("phrase",),
    constant=("vocabulary_version",),
)  # fmt: skip

COMPARISON_MATCHES = Table(
    "comparison_matches",
    "Every answer of one judge: which of two masked sentences is closer to 'finding certainly present'. "
    "Empty for the published ruler.",
    (
        text("match_id", "Hash of phrases and repetition; the same for every judge", pattern=whole(c.A_HASH)),
        text("phrase_a", "Phrase that comes first in the alphabet"),
        text("phrase_b", "Phrase that comes second"),
        integer("repetition", "0-based number of the comparison of this phrase pair"),
        text("sentence_a", "Masked example sentence of phrase_a", restricted=True),
        text("sentence_b", "Masked example sentence of phrase_b", restricted=True),
        flag("swapped", "phrase_b was shown as sentence_1"),
        code("answer", "What the judge said", ("sentence_1", "sentence_2", "invalid")),
        text("winner", "Phrase judged more certain; null for an invalid answer", nullable=True),
        text("vocabulary_version", "Vocabulary that the match belongs to"),
    ),
    ("match_id",),
    unique=(("phrase_a", "phrase_b", "repetition"),),
    constant=("vocabulary_version",),
    present=(Present("winner", "answer", ("sentence_1", "sentence_2")),),
)  # fmt: skip

REFERENCE_RANKING = Table(
    "reference_ranking",
    "The reference scale: hedging phrases ranked from most to least certain by TrueSkill.",
    (
        text("phrase", "Hedging phrase"),
        integer("rank", "0 = most certain"),
        number("mu", "TrueSkill mean, averaged over random orders (prior 25); beyond these ends ratings have "
            "run away", minimum=-15.0, maximum=65.0),
        number("sigma", "TrueSkill deviation, averaged over random orders (a steady state, not an error bar)",
            minimum=0.0),
        number("mu_sd", "Standard deviation of mu over the bootstrap of sentence pairs", minimum=0.0),
        number("mu_low", "2.5% quantile of mu over the bootstrap"),
        number("mu_high", "97.5% quantile of mu over the bootstrap"),
        number("rank_low", "2.5% quantile of the rank over the bootstrap"),
        number("rank_high", "97.5% quantile of the rank over the bootstrap"),
        number("reading_sd", "How far judges lie apart in reading one sentence, in units of mu: estimated "
            "from the matches, or a default for a single judge and for the published ruler",
            minimum=0.0),
        integer("n_matches", "Valid matches that the phrase played"),
        probability("win_rate", "Share of its valid matches that it won; null without matches",
            nullable=True),
        listed("judges", "Judges of the ranker, in panel order: they fit, and with an own ruler they made "
            "the ranking"),
        c.OWN_OR_PUBLISHED,
        c.RULER_REASON,
        text("vocabulary_version", "Vocabulary that was ranked"),
        text("ranking_version", "Hash of the matches, of who the judges are, and of the constants"),
    ),
    ("phrase",),
    ordered=(("mu_low", "mu_high"), ("rank_low", "rank_high")),
    unique=(("rank",),),
    constant=("reading_sd", "ranking_version"),
)  # fmt: skip

FITTED_PROBABILITIES = Table(
    "fitted_probabilities",
    "Every tentative finding placed in the ranking and mapped to a probability that the finding is present, "
    "with an interval.",
    (
        c.STATED_ID,
        c.STUDY,
        listed("phrases", "Hedging phrases extracted for the pair"),
        text("sentence_key", "Hash of the masked sentence: identical masked sentences are fitted once; empty "
            "when unmaskable", pattern=whole(c.A_HASH, or_empty=True)),
        c.SAME_NAME,
        number("mu", "Fitted position on the ranking; null when not fitted", nullable=True),
        number("sigma", "Deviation that the fit states, no error bar in the paper's; null when not fitted",
            nullable=True, minimum=0.0),
        integer("rank", "Reference phrases above it (0-based); null when not fitted", nullable=True),
        integer("steps", "Opponents played", maximum=110),
        integer("answers", "Valid answers used"),
        integer("invalid_answers", "Invalid answers left out"),
        code("stop", "Why the fit ended", ("stable rank", "step limit", "no opponent left",
            "no valid answers", "not located")),
        number("mu_centre", "Mean of the place given all answers at once, around which the interval is made",
            nullable=True),
        number("mu_sd", "Deviation of the place given all answers at once; null when not fitted",
            nullable=True, minimum=0.0),
        probability("p", "Probability that the finding is present"),
        probability("p_low", "Lower end of the 95% interval of p"),
        probability("p_high", "Upper end of the 95% interval of p"),
        code("p_source", "fitted, from the phrases' mean mu, or no information",
            ("fitted", "phrase", "none")),
        c.OWN_OR_PUBLISHED,
        text("ranking_version", "Ranking that the fit was made with"),
    ),
    ("finding_id",),
    ordered=(("p_low", "p", "p_high"),),
    present=tuple(Present(name, "p_source", ("fitted",)) for name in ("mu", "mu_sd")),
    constant=("ranking_version",),
)  # fmt: skip

FIT_LOG = Table(
    "fit_log",
    "Every play of every fit: which phrase a sentence met, what the judges said, and where the sentence "
    "stood afterwards.",
    (
        text("sentence_key", "Hash of the masked sentence, as in fitted_probabilities",
            pattern=whole(c.A_HASH)),
        integer("step", "0-based number of the play, those without a valid answer included"),
        text("opponent", "Reference phrase that was played"),
        probability("draw_probability", "How even the play was expected to be: draw probability before the "
            "play"),
        text("answers", "What each judge said of the sentence, 'judge=won', 'judge=lost' or 'judge=invalid', "
            "in panel order"),
        number("mu", "Place after the play"),
        number("sigma", "Deviation after the play", minimum=0.0),
        integer("rank", "Reference phrases above the place after the play (0-based)"),
    ),
    ("sentence_key", "step"),
)  # fmt: skip
