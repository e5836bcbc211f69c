"""Hedged statements about one problem: every allotted phrase in a sentence of suitable grammar.

A sentence hedges one diagnosis, two alternatives, or two diagnoses by different phrases; most begin with the
sign that is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from lunguage_assets.sample.knowledge import FindingTerm, HedgingPhrase
from lunguage_assets.sample.prose.language import NounPhrase, fill
from lunguage_assets.sample.prose.repertoire import Repertoire
from lunguage_assets.sample.records import Fact, PrintedSentence, is_evidence


def hedged(problem: Repertoire, hedges: Sequence[HedgingPhrase], headline: bool) -> list[PrintedSentence]:
    """One sentence per hedge, or two hedges in one sentence where the second can follow the first."""
    sentences: list[PrintedSentence] = []
    rest = sorted(hedges, key=lambda hedge: bool(hedge.joins))
    while rest:
        first = rest.pop(0)
        second = next((hedge for hedge in rest if hedge.joins), None)
        named = [fact.term for sentence in sentences for fact in sentence.facts if fact.hedges]
        sentence, shown, words = _sentence(problem, first, headline, named)
        if second is not None and problem.rng.random() < 0.8:
            rest.remove(second)
            _join(problem, sentence, first, second, shown, words)
        sentences.append(problem.dictation.take(sentence))
    return sentences


def _sentence(
    problem: Repertoire, hedge: HedgingPhrase, headline: bool, named: list[FindingTerm]
) -> tuple[PrintedSentence, Fact | None, dict[str, str]]:
    """A sentence for the hedge, with its sign and the words of its limits.

    `named` was hedged in this section already.
    """
    form = _form(problem, hedge, bool(named))
    template = problem.rng.choice(getattr(hedge, form))
    mentions: dict[str, NounPhrase] = {}
    shown: Fact | None = None
    if form == "tails" or "O}" in template or "{O:" in template:
        mentions["O"] = problem.show_sign(headline, problem.wish(hedge))
        shown = problem.sign_fact = mentions["O"].fact
    _name_diagnoses(problem, template, hedge, mentions, headline, named)
    words = _limits(problem, template, mentions["X"].fact)
    if form == "tails":
        lead = "{O}" if headline else problem.rng.choice(problem.knowledge.wording["leads"])
        template = f"{lead}, {template}"
    return problem.sentence(template, mentions, headline, words), shown, words


def _form(problem: Repertoire, hedge: HedgingPhrase, more: bool) -> str:
    """The kind of template: after a first sentence about the sign, rather one that does not name it again."""
    without = bool(hedge.clauses) and (more or problem.signless or not problem.signs(problem.wish(hedge)))
    weights = {"clauses": 1} if without else {"tails": 4, "subjects": 3, "clauses": 3}
    forms = [form for form in weights if getattr(hedge, form)]
    return problem.rng.choices(forms, [weights[form] for form in forms])[0]


def _name_diagnoses(
    problem: Repertoire,
    template: str,
    hedge: HedgingPhrase,
    mentions: dict[str, NounPhrase],
    headline: bool,
    named_before: list[FindingTerm],
) -> None:
    """Add X, and Y where the template has one (or, rarely, a second diagnosis after 'or')."""
    shown = mentions["O"].fact if "O" in mentions else None
    seen: list[FindingTerm] = [*named_before, shown.term] if shown is not None else [*named_before]
    pair = "Y}" in template
    share = problem.knowledge.wording["proportions"]["alternative"]
    other = (
        shown is not None
        and not pair
        and not hedge.negative
        and not hedge.singular
        and problem.rng.random() < share
    )
    status = "tn" if hedge.negative else "tp"
    number = "one" if hedge.singular else ""
    first = problem.diagnosis(status, seen, grave=hedge.grave, number=number)
    mentions["X"] = named = problem.name(
        first, status, headline, beside=shown, number=number, plain=pair or other, bare=hedge.bare
    )
    named.fact.hedges.append(hedge.phrase)
    if pair or other:
        second = problem.diagnosis("tp", [*seen, first])
        mention = problem.name(second, "tp", headline, beside=shown or named.fact, plain=True)
        mention.fact.hedges.append(hedge.phrase)
        if other or (" or " in template and hedge.phrase != "or"):
            named.fact.hedges.append("or")
            mention.fact.hedges.append("or")
        if other:
            named.alternative = mention
        else:
            mentions["Y"] = mention
    _support(
        problem, shown, [fact for key, mention in mentions.items() if key != "O" for fact in mention.facts]
    )


def _support(problem: Repertoire, shown: Fact | None, named: Sequence[Fact]) -> None:
    """Link the sign as evidence of what it suggests, in this sentence or in the other section."""
    for fact in named:
        if shown is not None:
            is_evidence(shown, fact)
        elif problem.sign_fact is not None and problem.rng.random() < 0.6:
            fact.evidence.append(problem.sign_fact)


def _limits(problem: Repertoire, template: str, fact: Fact) -> dict[str, str]:
    kind = "portable" if problem.dictation.plan.situation.portable else "any"
    said, cell = problem.rng.choice(problem.knowledge.limits[kind])
    if "{limit" in template:
        fact.attributes["assessment limitations"] = cell
    return {"limit": said, "technique": problem.rng.choice(problem.knowledge.words["technique"])}


def _join(
    problem: Repertoire,
    sentence: PrintedSentence,
    first: HedgingPhrase,
    second: HedgingPhrase,
    shown: Fact | None,
    words: dict[str, str],
) -> None:
    """Let a diagnosis that the second phrase hedges follow in the same sentence."""
    status = "tn" if second.negative else "tp"
    term = problem.diagnosis(status, [fact.term for fact in sentence.facts])
    mention = problem.name(term, status, headline=False, beside=shown or sentence.facts[0], plain=True)
    mention.fact.hedges.append(second.phrase)
    text, facts = fill(problem.rng.choice(second.joins), {"X": mention}, words)
    wording = problem.knowledge.wording
    connectives = (
        wording["connectives"]
        if first.negative or second.negative
        else wording["connectives"] + wording["agreeing"]
    )
    sentence.text = sentence.text[:-1] + problem.rng.choice(connectives).format(text) + "."
    sentence.facts += facts
    _support(problem, shown, facts)
