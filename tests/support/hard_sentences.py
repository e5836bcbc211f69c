"""Invented sentences that are hard to hold together: every hedge with every kind of
list of alternatives, denials in lists, qualified denials, history, devices, courses.
"""

from __future__ import annotations

import random
from functools import cache

from lunguage_assets.assertion.hedges import bundled_lexicon

_FINDINGS = (
    "atelectasis", "pneumonia", "pulmonary edema", "pleural effusion", "consolidation", "scarring",
    "fibrosis", "aspiration", "a nodule", "pneumothorax", "emphysema", "cardiomegaly", "a rib fracture",
    "hemorrhage", "granuloma", "pleural thickening", "congestive heart failure", "lymphadenopathy",
    "an infiltrate", "COPD",
)  # fmt: skip
_SIGNS = (
    "opacity", "patchy opacities", "an ill-defined density", "increased markings", "prominent hila",
    "blunting of the left costophrenic angle", "volume loss", "a linear density",
)  # fmt: skip
_PLACES = (
    "", " at the left base", " in the right upper lobe", " in the right mid and lower lung", " bilaterally",
    " in both lower lobes", " of the lingula", " along the minor fissure",
)  # fmt: skip
_LISTS = (
    "{a}", "{a} or {b}", "{a} and/or {b}", "{a} versus {b}", "{a}, {b} or {c}", "{a}, {b} and/or {c}",
    "either {a} or {b}", "{a} and {b}", "{a}/{b}",
)  # fmt: skip
_BEHIND = (
    "{sign}{place}, {hedge} {list}.", "{hedge} {list}{place}.", "{sign}{place} is {hedge} {list}.",
    "There is {sign}{place} {hedge} {list}.", "Due to {sign}, {hedge} {list}{place}.",
)  # fmt: skip
_BEFORE = (
    "{list}{place} {hedge}.",
    "{sign}{place}; {list} {hedge}.",
    "{list} {hedge}, with {sign}{place}.",
)
_FORMS = {"right": _BEHIND, "left": _BEFORE, "both": _BEFORE + _BEHIND}
_WHOLE = (
    "No {a}, {b} or {c}.",
    "No {a}, no {b}, and no {c}{place}.",
    "No large {a} or definite {b}.",
    "No new {a}; stable {b}{place}.",
    "No evidence of {a}{place} to suggest {b}.",
    "Neither {a} nor {b}, but {c}{place}.",
    "{a} rather than {b}{place}.",
    "{a} less likely than {b}.",
    "Previously seen {a}{place} has resolved, {b} is unchanged.",
    "{a}{place} has improved; {b} is worse.",
    "Stable {a}{place}, without {b}.",
    "History of {a}, status post treatment; no {b} today.",
    "Old {a}{place} with calcified {b}.",
    "{sign}{place} was present on the prior study and is not seen today.",
    "Tip of the right internal jugular catheter{place}, without {a}.",
    "The endotracheal tube ends 4 cm above the carina; {a} cannot be excluded.",
    "Left chest tube in place, small residual {a}.",
    "Sternotomy wires are intact. Cardiac and mediastinal contours are normal.",
    "The heart is normal in size, the lungs are clear except for {a}{place}.",
    "The lungs are otherwise clear, with no {a}.",
    "{a} and {b} are present{place}.",
    "If clinically indicated, CT may be considered to exclude {a}.",
    "Small {a}{place}, measuring 12 mm, unchanged, with {b}.",
    "Addendum: {a}{place} is no longer suspected.",
)


def _filled(template: str, draw: random.Random, **values: str) -> str:
    a, b, c = draw.sample(_FINDINGS, 3)
    values |= {"sign": draw.choice(_SIGNS), "place": draw.choice(_PLACES)}
    values["list"] = values.get("list", "").format(a=a, b=b, c=c)
    text = " ".join(template.format(a=a, b=b, c=c, **values).split())
    return text[0].upper() + text[1:]


@cache
def hard_sentences(seed: int = 0) -> tuple[str, ...]:
    """Every hedging phrase of the lexicon with every kind of list, and each whole
    template six times over.
    """
    draw = random.Random(seed)
    sentences = [_filled(template, draw) for template in _WHOLE for _ in range(6)]
    for hedge in bundled_lexicon().hedges:
        if hedge.side == "list":
            continue
        for alternatives in _LISTS:
            forms = (
                _BEFORE
                if hedge.side == "left"
                else _BEHIND
                if hedge.side == "right"
                else _BEFORE + _BEHIND
            )
            sentences.append(
                _filled(draw.choice(forms), draw, hedge=hedge.phrase, list=alternatives)
            )
    return tuple(sentences)
