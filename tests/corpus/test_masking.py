"""Masking a finding in its sentence (explicit.md section 0)."""

from __future__ import annotations

from lunguage_assets.corpus.masking import Masker
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.tables import TERMS

MASKER = Masker(Vocabulary(TERMS.frame()))


MASKED = [
        ("Opacity may be present.", "opacity", "<finding> may be present."),
        ("Possible opacities, likely opacity.", "Opacity", "Possible <finding>, likely <finding>."),
        ("Possible opacity.", "opacities", "Possible <finding>."),
        ("Likely  ground-glass\nopacity here.", "ground glass opacity", "Likely  <finding> here."),
        ("Likely ground glass opacity.", "ground-glass opacity", "Likely <finding>."),
        ("Perhaps atelectasis / scarring.", "atelectasis/scarring", "Perhaps <finding>."),
        ("Probable reexpansion edema.", "re-expansion edema", "Probable <finding>."),
        ("Small pneumothoraces suspected.", "pneumothorax", "Small <finding> suspected."),
        ("Metastases suspected.", "metastasis", "<finding> suspected."),
        ("Calcified foci, possibly.", "calcified focus", "<finding>, possibly."),
        ("Likely masses.", "mass", "Likely <finding>."),
        ("A rib fracture or fractures?", "fractures", "A rib <finding> or <finding>?"),
        ("___opacity___ possible", "opacity", "___<finding>___ possible"),
        ("Some (possible) edema.", "(possible) edema", "Some <finding>."),
        ("This finding is possible.", "finding", "This <finding> is possible."),
]  # fmt: skip


def test_every_mention_is_masked_whatever_its_form() -> None:
    masked = [
        (sentence, ent, MASKER.masked(sentence, ent)) for sentence, ent, _ in MASKED
    ]
    assert masked == MASKED


NOT_FOUND = [
        ("Opacification is likely.", "opacity"), ("Hydropneumothorax is likely.", "pneumothorax"),
        ("A massive thing.", "mass"), ("Streptococcus pneumoniae is possible.", "pneumonia"),
        ("Nothing of the kind.", "edema"), ("Where is it?", "?"), ("", "edema"),
]  # fmt: skip


def test_a_finding_is_not_found_inside_another_word() -> None:
    assert [case for case in NOT_FOUND if MASKER.masked(*case) is not None] == []


def test_other_spellings_are_tried_only_when_the_own_wording_is_absent() -> None:
    assert MASKER.masked("PNA is possible.", "pneumonia") == "<finding> is possible."
    masked = MASKER.masked("Pneumonia (PNA) is possible.", "pneumonia")
    assert masked == "<finding> (PNA) is possible."
    masked = MASKER.masked("A haze is possible.", "hazing", "haze")
    assert masked == "A <finding> is possible."


def test_a_sentence_that_shows_the_mask_already_is_not_located() -> None:
    assert MASKER.masked("<finding> or opacity.", "opacity") is None
    assert MASKER.masked("<Finding> or opacity.", "opacity") is None
