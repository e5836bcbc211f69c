"""The history section: the patient, the complaints, the referrer's question.

Its rows take no part in the method.
"""

from __future__ import annotations

from lunguage_assets.sample.prose.language import article, capitalised, enumeration
from lunguage_assets.sample.prose.repertoire import Dictation, overlap
from lunguage_assets.sample.records import Fact, PrintedSentence

_PAST_MARKS = ("history of", "known", "hx")


def history(dictation: Dictation) -> list[PrintedSentence]:
    """One to three sentences; about two rows on average."""
    rng, knowledge, plan = dictation.phraser.rng, dictation.phraser.knowledge, dictation.plan
    wording = knowledge.wording["history"]
    symptoms = _symptoms(dictation)
    template = rng.choice(wording["introductions"] if symptoms else wording["without_symptoms"])
    chosen = {
        "age": str(plan.age),
        "sex": plan.sex,
        "S": "F" if plan.sex in ("woman", "female") else "M",
        "symptoms": enumeration([_printed(dictation, fact) for fact in symptoms]) if symptoms else "",
    }
    chosen["Symptoms"] = capitalised(chosen["symptoms"])
    facts = list(symptoms)
    if "{past}" in template:
        past = _past(dictation, template)
        facts.insert(0, past)
        chosen["past"] = _named(dictation, past)
    sentences = [PrintedSentence(template.format(**chosen), facts)]
    if "{past}" not in template and rng.random() < 0.16:
        template = rng.choice(wording["pasts"])
        past = _past(dictation, template)
        sentences.append(PrintedSentence(template.format(past=_named(dictation, past)), [past]))
    return sentences + (_question(dictation) if symptoms else [])


def _symptoms(dictation: Dictation) -> list[Fact]:
    rng, knowledge = dictation.phraser.rng, dictation.phraser.knowledge
    acute = [episode.disorder for episode in dictation.plan.episodes if not episode.chronic]
    fitting = [word for disorder in acute for word in disorder.symptoms if knowledge.term(word).cat != "NCD"]
    pool = list(dict.fromkeys(fitting + knowledge.wording["history"]["general"][: 3 if acute else 8]))
    facts: list[Fact] = []
    for words in rng.sample(pool, min(rng.choice([0, 1, 1, 1, 2, 2, 3]), len(pool))):
        term = knowledge.term(words)
        if not any(overlap(term, fact.term) or term.canonical == fact.term.canonical for fact in facts):
            facts.append(Fact(words, term, "dp"))
    return facts


def _past(dictation: Dictation, template: str) -> Fact:
    rng, knowledge = dictation.phraser.rng, dictation.phraser.knowledge
    related = [
        word
        for episode in dictation.plan.episodes
        for word in episode.disorder.symptoms
        if knowledge.term(word).cat == "NCD"
    ]
    words = rng.choice(related or knowledge.wording["history"]["past"])
    mark = next(mark for mark in _PAST_MARKS if mark in template.lower())
    return Fact(words, dictation.phraser.knowledge.term(words), "dp", attributes={"past hx": mark})


def _question(dictation: Dictation) -> list[PrintedSentence]:
    rng, knowledge = dictation.phraser.rng, dictation.phraser.knowledge
    acute = [episode.disorder for episode in dictation.plan.episodes if not episode.chronic]
    asked = [word for disorder in acute for word in disorder.question] or ["pneumonia", "pneumothorax"]
    if rng.random() > 0.55:
        return []
    words = rng.choice(asked)
    fact = Fact(words, knowledge.term(words), "tp")
    template = rng.choice(knowledge.wording["history"]["questions"])
    return [PrintedSentence(template.format(question=_printed(dictation, fact)), [fact])]


def _printed(dictation: Dictation, fact: Fact) -> str:
    named = _named(dictation, fact)
    return f"{article(named)} {named}" if fact.term.kind == "count" else named


def _named(dictation: Dictation, fact: Fact) -> str:
    named: str = dictation.phraser.knowledge.wording["capitals"].get(fact.words, fact.words)
    return named
