"""Statements without doubt about one problem, in the findings section and again in the impression."""

from __future__ import annotations

from lunguage_assets.sample.knowledge import FindingTerm
from lunguage_assets.sample.prose.markup import say
from lunguage_assets.sample.prose.repertoire import Repertoire
from lunguage_assets.sample.records import PrintedSentence, is_evidence


def stated(problem: Repertoire, headline: bool, sign_only: bool) -> list[PrintedSentence]:
    """The problem's first statement: its sign, its diagnosis, or both linked.

    A sentence may follow.
    """
    mode = "sign" if sign_only else _mode(problem)
    sentence = _linked(problem, headline) if mode == "linked" else _single(problem, headline, mode == "sign")
    sentences = [problem.dictation.take(sentence)]
    if not headline and problem.rng.random() < 0.3:
        sentences += _follower(problem)
    return sentences


def restated(problem: Repertoire) -> list[PrintedSentence]:
    """The impression's restatement of the findings without doubt, in headline style, often in other words."""
    doubtful = bool(problem.episode.hedges)
    term = problem.sign if doubtful or problem.main is None else problem.main
    if term is None:
        return []
    site = problem.phraser.fitting_site(term, problem.episode.place)
    number = problem.sign_number if term is problem.sign else ""
    mention = problem.mention(
        term, "dp", site, number=number, trend=problem.episode.trend, adorned=False, headline=True
    )
    return [problem.dictation.take(problem.sentence("{X}", {"X": mention}, headline=True))]


def _mode(problem: Repertoire) -> str:
    weights = problem.disorder.definite
    if problem.signless:
        return "diagnosis"
    if problem.episode.variant is not None:
        return "linked" if weights["linked"] and problem.rng.random() < 0.4 else "diagnosis"
    return problem.rng.choices(list(weights), list(weights.values()))[0]


def _single(problem: Repertoire, headline: bool, is_sign: bool) -> PrintedSentence:
    wording, trend = problem.knowledge.wording, problem.episode.trend
    if headline:
        templates, spoken = wording["headline"], trend
    elif trend in wording["trend_sentences"] and problem.rng.random() < 0.6:
        templates, spoken = wording["trend_sentences"][trend], ""
    else:
        templates, spoken = wording["stated"], trend
    template = problem.rng.choice(templates)
    if is_sign:
        mention = problem.show_sign(headline, trend=spoken)
        problem.sign_fact = mention.fact
    else:
        term: FindingTerm = problem.diagnosis("dp", settled=True)
        site = problem.phraser.fitting_site(term, problem.episode.place)
        mention = problem.mention(term, "dp", site, adorned=True, trend=spoken, headline=headline)
    for words, column in wording["trend_cells"].items():
        if words in template:
            mention.fact.attributes[column] = words
    if wording["prior_mark"] in template:
        mention.fact.attributes["comparison"] = "prior study"
    return problem.sentence(template, {"X": mention}, headline)


def _linked(problem: Repertoire, headline: bool) -> PrintedSentence:
    shown = problem.show_sign(headline)
    diagnosis = problem.diagnosis("dp", [shown.fact.term], settled=True)
    named = problem.name(diagnosis, "dp", headline, beside=shown.fact)
    is_evidence(shown.fact, named.fact)
    problem.sign_fact = shown.fact
    template = problem.rng.choice(problem.knowledge.wording["linked_headline" if headline else "linked"])
    return problem.sentence(template, {"O": shown, "X": named}, headline)


def _follower(problem: Repertoire) -> list[PrintedSentence]:
    """A further sentence, unless it would contradict or repeat what was said."""
    options = problem.knowledge.statements[f"followers of {problem.disorder.name}"]
    if not options:
        return []
    sentence = say(problem.rng.choice(options), problem.rng, problem.knowledge)["text"]
    if any(fact.term.canonical in problem.dictation.claims for fact in sentence.facts):
        return []
    return [problem.dictation.take(sentence)]
