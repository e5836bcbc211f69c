"""One name for every finding and place (implicit.md section 3), and findings masked in
their sentences (explicit.md section 0).
"""

from __future__ import annotations

import random
from itertools import chain

import pandas as pd
import yaml
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.corpus.masking import Masker
from lunguage_assets.corpus.vocabulary import Vocabulary, built_in_forms, plain
from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import TERMS

BARE = Vocabulary(TERMS.frame())


def vocabulary(*terms: tuple[str, str, str]) -> Vocabulary:
    columns = ["category", "target_term", "normed_term"]
    frame = pd.DataFrame(terms, columns=columns).assign(subcategory="")
    return Vocabulary(frame)


NAMES = {
    "effusion": "pleural effusion", "Effusions": "pleural effusion", "malignancy": "lung cancer",
    "lung malignancy": "lung cancer", "carcinoma": "lung cancer", "lung carcinoma": "lung cancer",
    "fx": "fracture", "CHF": "congestive heart failure", "copd": "copd",
    "chronic obstructive pulmonary disease": "copd", "pna": "pneumonia", "pneumo": "pneumonia",
    "TB": "tuberculosis", "ptx": "pneumothorax", "pulm edema": "pulmonary edema",
    "pneumothoraces": "pneumothorax", "hydropneumothoraces": "hydropneumothorax",
    "rib  fractures": "rib fracture", "opacities": "opacity", "metastases": "metastasis",
    "masses": "mass", "foci": "focus", "vertebrae": "vertebra",
    "Something  Nobody Listed": "something nobody listed", "": "",
}  # fmt: skip


def test_the_forms_of_the_method_page_are_recognised() -> None:
    assert {spelling: BARE.finding(spelling) for spelling in NAMES} == NAMES


NO_PLURALS = [
    "atelectasis", "pneumonitis", "tuberculosis", "emphysematous", "diaphragm", "pus", "thrombus",
    "bronchus", "pelvis", "callus", "gas", "pancreas", "ascites", "mass", "loss", "process", "kyphosis",
    "mucous", "thorax", "apex", "sinus", "diabetes", "pseudomonas", "lens",
]  # fmt: skip


def test_words_that_only_end_like_plurals_survive() -> None:
    names = [*NO_PLURALS, *(f"volume {word}" for word in NO_PLURALS)]
    assert list(map(BARE.finding, names)) == names


def test_no_spelling_of_the_pathways_becomes_another_diagnosis() -> None:
    """Normalising the spellings of one diagnosis never yields a spelling of another."""
    pathways = yaml.safe_load(resource("pathways.yaml").read_text(encoding="utf-8"))
    owner: dict[str, str] = {}
    for diagnosis in pathways["diagnoses"]:
        name = diagnosis["name"]
        for spelling in diagnosis["spellings"]:
            assert owner.setdefault(BARE.finding(spelling), name) == name
    assert len(set(owner.values())) == 14


PARTS = {
    "RUL": ("right upper lobe",), "RML, RLL": ("right lower lobe", "right middle lobe"),
    "LLL, left lower lobe": ("left lower lobe",), "lingula": ("lingula",),
    "bibasilar": ("bilateral base",), "left basilar": ("left base",),
    "left lung base": ("left base",), "left CP angles": ("left costophrenic angle",),
    "lungs, Apices": ("apex", "lung"), " , ,": (), "": (),
}  # fmt: skip


def test_places_are_a_sorted_set_of_canonical_parts() -> None:
    assert {location: BARE.location_parts(location) for location in PARTS} == PARTS


def test_the_delivered_vocabulary_is_followed_through_chains_and_plurals() -> None:
    delivered_vocabulary = vocabulary(
        ("PF", "haziness", "haze"),
        ("OTH", "haze", "hazy opacity"),
        ("location", "haze", "nowhere"),
        ("onset", "haze", "new"),
    )
    names = map(delivered_vocabulary.finding, ("Haziness", "hazes"))
    assert set(names) == {"hazy opacity"}
    assert delivered_vocabulary.location_parts("haze") == ("nowhere",)
    assert delivered_vocabulary.finding("nowhere") == "nowhere"


def test_a_vocabulary_that_contradicts_itself_still_gives_one_name() -> None:
    circle = vocabulary(("PF", "a", "b"), ("PF", "b", "c"), ("PF", "c", "a"))
    assert {circle.finding(name) for name in "abc"} == {"a"}
    two = vocabulary(("PF", "x", "z"), ("CF", "x", "y"))
    assert two.finding("x") == "y"
    itself = vocabulary(("PF", "x", "a"), ("CF", "x", "x"))
    assert itself.finding("x") == "x"


TERM = st.sampled_from(["a", "b", "effusion", "as", "b, c", "rul", "fractures", "x y"])


@given(
    st.lists(
        st.tuples(st.sampled_from(["PF", "CF", "location"]), TERM, TERM), max_size=8
    ),
    TERM,
    st.randoms(use_true_random=False),
)
@examples(200)
def test_any_vocabulary_is_idempotent_and_independent_of_its_row_order(
    terms: list[tuple[str, str, str]], text: str, shuffler: random.Random
) -> None:
    any_vocabulary = vocabulary(*terms)
    name = any_vocabulary.finding(text)
    location_parts = any_vocabulary.location_parts(text)
    assert any_vocabulary.finding(name) == name
    assert any_vocabulary.location_parts(", ".join(location_parts)) == location_parts
    shuffled = list(terms)
    shuffler.shuffle(shuffled)
    reordered = vocabulary(*shuffled)
    assert reordered.finding(text) == name
    assert reordered.location_parts(text) == location_parts


def test_no_built_in_form_is_itself_rewritten() -> None:
    forms = built_in_forms()
    for form in (*forms["findings"], *forms["whole"]):
        assert BARE.finding(form) == plain(form)
    for form in forms["locations"]:
        assert BARE.location_parts(form) == (plain(form),)


def test_no_built_in_spelling_has_two_forms() -> None:
    forms = built_in_forms()
    for groups in (
        [forms["words"], forms["findings"]],
        [forms["words"], forms["locations"]],
        [forms["whole"]],
        [forms["plurals"]],
    ):
        form_of = {}
        for form, spellings in chain.from_iterable(group.items() for group in groups):
            for spelling in spellings:
                name = plain(spelling).replace("-", " ")
                assert form_of.setdefault(name, form) == form


MASKER = Masker(BARE)


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
