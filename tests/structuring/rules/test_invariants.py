"""What holds for every sentence, whatever it says (method.md section 7)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import ATTRIBUTES, STATUSES, TERMS
from lunguage_assets.tables.columns import CATEGORIES

STRUCTURER = RuleStructurer()
FINDINGS = (
    "effusion", "pneumothorax", "consolidation", "pulmonary edema", "nodule", "rib fracture", "atelectasis",
)  # fmt: skip
WORDS = (
    *FINDINGS, "no", "without", "possible", "may represent", "cannot be excluded", "or", "versus", "and", ",",
    "but", "left", "right lower lobe", "in the", "heart", "lungs", "is", "are", "normal", "clear", "enlarged",
    "small", "unchanged", "has resolved", "recommend", "CT", "if", "history of", "rather than", "xxxx", "___",
    ";", "with", "suggests", "5 mm", "T12", "ET tube", "mother", "not", "not seen", "(", ")", ":", "/",
    "there is", "which", "this", "these",
)  # fmt: skip
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)
sections = st.sampled_from(["hist", "find", "impr"])
lists = st.lists(st.sampled_from(FINDINGS), min_size=1, max_size=5, unique=True)


def _values(mention):
    yield mention.ent
    yield from mention.location
    for values in mention.attributes.values():
        yield from values


@examples(200)
@given(sentences | st.text(max_size=80), sections)
@example("Effusion, small,", "find")
def test_every_value_is_quoted_and_every_code_is_known(sentence, section):
    reading = STRUCTURER.read_sentence(sentence, section)
    assert (reading.account == "findings") == bool(reading.mentions)
    assert reading.account == "findings" or reading.reason
    for mention in reading.mentions:
        for span in _values(mention):
            assert 0 <= span.begin < span.end <= len(sentence)
        assert mention.status in STATUSES
        assert mention.cat in CATEGORIES
        assert set(mention.attributes) <= set(ATTRIBUTES)
        assert mention.normed_ent == mention.normed_ent.lower() != ""


@examples(150)
@given(sentences)
def test_evidence_leads_one_way_and_associate_leads_back(sentence):
    mentions = STRUCTURER.read_sentence(sentence, "find").mentions
    for number, mention in enumerate(mentions):
        for support in mention.evidence:
            assert support != number
            assert mentions[support].associate
            assert number not in mentions[support].evidence


@examples(100)
@given(
    lists,
    st.sampled_from(["No", "There is no", "No evidence of", "Without", "Negative for"]),
    st.sampled_from(["or", "and", "nor"]),
)
def test_a_denied_list_denies_every_member(findings, denial, joint):
    *first, last = findings
    sentence = f"{denial} {', '.join(first)}{f', {joint} ' if first else ''}{last}."
    mentions = STRUCTURER.read_sentence(sentence, "find").mentions
    assert [mention.status for mention in mentions] == ["dn"] * len(findings)


@examples(100)
@given(lists, st.data())
def test_a_no_before_a_finding_never_leaves_it_positive(findings, data):
    at = data.draw(st.integers(0, len(findings) - 1))
    named = [*findings[:at], f"no {findings[at]}", *findings[at + 1 :]]
    sentence = f"There is {', '.join(named)}."
    mentions = STRUCTURER.read_sentence(sentence, "find").mentions
    assert mentions[at].status == "dn"
    assert [mention.status for mention in mentions[:at]] == ["dp"] * at


@examples(100)
@given(
    lists,
    st.sampled_from(["may represent", "suggestive of", "could be", "consistent with"]),
)
def test_a_hedge_leaves_its_whole_list_open(findings, hedge):
    sentence = f"Findings {hedge} {' or '.join(findings)}."
    mentions = STRUCTURER.read_sentence(sentence, "find").mentions
    assert [mention.status for mention in mentions] == ["tp"] * len(findings)


def test_a_delivered_vocabulary_widens_the_words_and_changes_the_identity():
    words = {
        "category": ["PF", "location", "morphology", "CF"],
        "subcategory": [""] * 4,
        "target_term": ["snowstorm pattern", "ostiomeatal pit", "frilly", "effusion"],
        "normed_term": ["snowstorm", "ostiomeatal pit", "frilly", "something else"],
    }
    wider = RuleStructurer(TERMS.frame(words))
    text = "Frilly snowstorm pattern in the ostiomeatal pit."
    (mention,) = wider.read_sentence(text, "find").mentions
    stated = (mention.normed_ent, mention.cat, mention.status)
    assert stated == ("snowstorm", "PF", "dp")
    assert [span.of(text) for span in mention.location] == ["ostiomeatal pit"]
    assert [span.of(text) for span in mention.attributes["morphology"]] == ["Frilly"]
    (effusion,) = wider.read_sentence("Effusion.", "find").mentions
    assert effusion.normed_ent == "pleural effusion"
    bare = RuleStructurer(TERMS.frame()).identity
    assert wider.identity != STRUCTURER.identity == bare


GERMAN = "Der Herzschatten ist schmal und die Lunge frei von Infiltraten."


@pytest.mark.parametrize(("sentence", "account", "reason"), [
    ("", "unreadable", "no words"),
    ("XXXX ___ .", "unreadable", "no words"),
    ("effusion or " * 400, "unreadable", "length"),
    (GERMAN, "unreadable", "language"),
    ("Thank you for this referral.", "nothing stated", "no finding named"),
    ("Recommend CT to exclude malignancy.", "not about the patient now", "recommendation"),
    ("If clinically indicated.", "not about the patient now", "condition"),
    ("Mother had tuberculosis.", "not about the patient now", "somebody else"),
])  # fmt: skip
def test_a_sentence_without_rows_says_why(sentence, account, reason):
    reading = STRUCTURER.read_sentence(sentence, "find")
    assert (reading.account, reading.reason, reading.mentions) == (account, reason, ())
