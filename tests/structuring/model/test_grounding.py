"""Nothing that a model claims is believed that its sentence does not bear out, and what
is left is kept.
"""

from __future__ import annotations

from typing import Any

import pytest
from asked_reports import account, answer_text, finding, report_of
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.structuring.contract import SectionedReport, Span, StructuredReport
from lunguage_assets.structuring.model.claims import ACCOUNTS, REASONS, parse_answer
from lunguage_assets.structuring.model.grounding import ground_answer
from lunguage_assets.tables.columns import ATTRIBUTES, CATEGORIES, STATUSES
from lunguage_assets.tables.corpus import ACCOUNTS as TABLE_ACCOUNTS

REPORT = report_of(
    "s00000001",
    hist=["Cough."],
    other=["Opacity of the cassette."],
    find=[
        "A small ground-\nglass Opacity in the left base, and an opacity at the right apex.",
        "No effusion.",
        "The heart\u2019s size is normal.",
    ],
    impr=["Opacity may be pneumonia."],
)
DUMB = [account(name) for name in ("hist:1", "find:2", "find:3", "impr:1")]


def read(
    findings: list[Any],
    sentences: list[Any] | None = None,
    report: SectionedReport = REPORT,
) -> StructuredReport:
    accounts = DUMB if sentences is None else sentences
    answer = parse_answer(answer_text(findings, accounts))
    assert answer is not None
    return ground_answer(report, answer)


def refusals(answer: StructuredReport) -> list[tuple[str, str]]:
    return [(refusal.column, refusal.reason) for refusal in answer.refused]


def words(*spans: Span, report: SectionedReport = REPORT) -> list[str]:
    return [span.of(report.text) for span in spans]


def assert_sound(answer: StructuredReport) -> None:
    """Every value stands in its sentence, every code is one, every reference and
    account fits.
    """
    positions = [mention.sentence for mention in answer.mentions]
    assert positions == sorted(positions)
    for number, mention in enumerate(answer.mentions):
        sentence = REPORT.sentences[mention.sentence]
        for group in ((mention.ent,), mention.location, *mention.attributes.values()):
            assert len(set(group)) == len(group)
            assert all(
                sentence.span.begin <= s.begin < s.end <= sentence.span.end
                for s in group
            )
        assert sentence.section != "other"
        assert mention.normed_ent == mention.normed_ent.lower() != ""
        assert (mention.cat in CATEGORIES, mention.status in STATUSES) == (True, True)
        assert set(mention.attributes) <= set(ATTRIBUTES)
        assert number not in (*mention.evidence, *mention.associate)
        for goal in mention.evidence:
            assert number in answer.mentions[goal].associate
    accounts = zip(REPORT.sentences, answer.readings, strict=True)
    for position, (sentence, reading) in enumerate(accounts):
        assert reading.account in TABLE_ACCOUNTS
        assert (reading.account == "findings") == (position in positions)
        assert sentence.section != "other" or reading.account == "nothing stated"
    assert all(len(refused.found) <= 80 for refused in answer.refused)


_WORDS = st.sampled_from(
    ["opacity", "OPACITY", "ground glass", "left base", "right", "effusion", "heart's size", "small", "no",
     "tumour", "", " ", "opacity in the", "left, right", ",", "-", "apex.", "pneumonia", "ity", "\u2028"]
)  # fmt: skip
_PLAIN = st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6) | _WORDS
_KEYS = st.text(max_size=5)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | _PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
_IDS = st.sampled_from(
    ["hist:1", "find:1", "find:2", "FIND: 3", "impr:1", "other:1", "find:9", "1", ""]
)
_NUMBERS = st.lists(st.integers(-1, 6), max_size=3)


def _entry(**fields: Any) -> st.SearchStrategy[Any]:
    optional = {name: field | _ANY for name, field in fields.items()}
    return st.fixed_dictionaries({}, optional=optional)


_COLUMNS = st.sampled_from([*ATTRIBUTES, "no change", "colour"])
_FINDING = _entry(
    number=st.integers(-1, 6),
    sentence=_IDS,
    words=_WORDS,
    name=_WORDS,
    category=st.sampled_from([*CATEGORIES, "pf", "XX"]),
    polarity=st.sampled_from(["positive", "Negative", "both"]),
    certainty=st.sampled_from(["definitive", "tentative", "quite"]),
    places=st.lists(_WORDS, max_size=3),
    attributes=st.lists(_entry(column=_COLUMNS, words=_WORDS), max_size=3),
    evidence=_NUMBERS,
    associate=_NUMBERS,
)
_SOUND_FINDING = st.builds(
    finding,
    st.integers(1, 6),
    st.sampled_from(["find:1", "impr:1"]),
    st.sampled_from(["opacity", "pneumonia", "small"]),
    evidence=_NUMBERS,
)
_SENTENCE = _entry(
    sentence=_IDS,
    account=st.sampled_from([*ACCOUNTS, "findings"]),
    reason=st.sampled_from([*REASONS, "why"]),
)


@examples(150)
@given(
    st.lists(_FINDING | _SOUND_FINDING | _ANY, max_size=6),
    st.lists(_SENTENCE | _ANY, max_size=5),
)
def test_whatever_json_comes_back_every_kept_value_quotes_its_sentence(
    findings: list[Any], sentences: list[Any]
) -> None:
    grounded = read(findings, sentences)
    assert_sound(grounded)
    assert read(findings, sentences) == grounded


def test_words_are_found_whatever_their_case_line_breaks_and_hyphens() -> None:
    grounded = read(
        [
            finding(1, "find:1", "OPACITY", places=["left  base"],
                    attributes=[{"column": "morphology", "words": "ground\u2010glass"},
                                {"column": "measurement", "words": "small."}]),
            finding(2, "find:3", "heart's size", polarity="negative"),
        ]
    )  # fmt: skip
    first, second = grounded.mentions
    assert words(first.ent, *first.location) == ["Opacity", "left base"]
    assert words(*first.attributes["morphology"]) == ["ground-\nglass"]
    assert (words(second.ent), second.status) == (["heart\u2019s size"], "dn")
    assert refusals(grounded) == []


OPACITIES = [
    finding(1, "find:1", "opacity", places=["right apex"]),
    finding(2, "find:1", "opacity", places=["left base"]),
]


def located(answer: StructuredReport, report: SectionedReport) -> list[list[str]]:
    return [words(it.ent, *it.location, report=report) for it in answer.mentions]


def test_words_at_two_places_are_two_rows_whether_they_stand_once_or_twice() -> None:
    twice = [["Opacity", "right apex"], ["opacity", "left base"]]
    assert located(read(OPACITIES), REPORT) == twice
    once = report_of("s00000002", find=["An opacity in the left base and right apex."])
    same_words = [["opacity", "right apex"], ["opacity", "left base"]]
    assert located(read(OPACITIES, [], once), once) == same_words
    repeated = [OPACITIES[0], OPACITIES[0] | {"number": 2}]
    assert refusals(read(repeated, [], once)) == [("ent", "duplicate")]


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"sentence": "find:9"}, ("", "no-such-sentence")),
        ({"sentence": "other:1"}, ("", "no-such-sentence")),
        ({"words": "granuloma"}, ("ent", "not-in-sentence")),
        ({"words": "paci"}, ("ent", "not-in-sentence")),
        ({"words": ["opacity"]}, ("", "not-an-entry")),
        ({"category": "XX"}, ("", "not-an-entry")),
    ],
)
def test_a_refused_finding_takes_its_values_and_references_to_it_along(
    fields: dict[str, Any], refused: tuple[str, str]
) -> None:
    bad = finding(1, "find:1", "opacity", places=["nowhere"], evidence=[2]) | fields
    grounded = read([bad, finding(2, "impr:1", "pneumonia", evidence=[1])])
    (mention,) = grounded.mentions
    assert (words(mention.ent), mention.evidence) == (["pneumonia"], ())
    assert refusals(grounded)[:2] == [refused, ("evidence", "no-such-finding")]


SEVERE = {"column": "severity", "words": "severe"}
COLOUR = {"column": "colour", "words": "small"}


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"places": ["left base", "hilum"]}, [("location", "not-in-sentence")]),
        ({"attributes": [SEVERE]}, [("severity", "not-in-sentence")]),
        ({"attributes": [COLOUR]}, [("", "no-such-column")]),
        ({"evidence": [5]}, [("evidence", "no-such-finding")]),
        ({"associate": [1]}, [("associate", "no-such-finding")]),
        # A name that might be a sentence gives way to the finding's own words.
        ({"name": "opacity, idx 1"}, []),
        ({"name": "opacity seen on 2031"}, []),
        ({"name": "an opacity that the author saw there"}, []),
    ],
)
def test_a_refused_value_leaves_its_finding(
    fields: dict[str, Any], refused: list[tuple[str, str]]
) -> None:
    grounded = read([finding(1, "find:1", "opacity", places=["left base"]) | fields])
    assert refusals(grounded) == refused
    (mention,) = grounded.mentions
    assert mention.normed_ent == "opacity"
    assert words(*mention.location) in (["left base"], [])


def test_a_sentence_that_the_answer_forgets_is_unreadable_and_a_fault() -> None:
    grounded = read(
        [finding(1, "find:1", "opacity"), finding(2, "find:2", "wound")],
        [account("hist:1")],
    )
    assert [(r.account, r.reason) for r in grounded.readings] == [
        ("nothing stated", "other"), ("nothing stated", "section"), ("findings", ""),
        *[("unreadable", "left out")] * 3,
    ]  # fmt: skip
    forgotten = ("account", "left-out")
    assert refusals(grounded) == [("ent", "not-in-sentence"), *[forgotten] * 3]


def test_what_is_refused_is_never_shown_by_a_repr() -> None:
    planted = "zanzibar quartz lantern " * 10
    colour = [{"column": planted, "words": "x"}]
    findings = [
        finding(1, planted, planted),
        finding(2, "find:1", planted),
        finding(3, "find:1", "opacity", name=planted * 2, attributes=colour),
    ]
    grounded = read(findings, [{"sentence": planted, "account": planted}])
    codes = [(it.section, it.column, it.reason) for it in grounded.refused]
    assert "zanzibar" not in f"{grounded!r} {codes}"


UNREADABLE = [
    "", "no", "[]", '{"findings": []}', '{"findings": {}, "sentences": []}', "{'findings': []}",
    '{"findings": ["\\ud800"], "sentences": []}',
    'Here: {"findings": [], "sentences": []}', '{"findings": [], "sentences": []} and so on',
    '{"findings": [], "sentences": []}{"findings": [], "sentences": []}', "[" * 100_000,
    "```json\n{\"findings\": []\n```", '{"findings": [1' + "0" * 5000 + '], "sentences": []}',
]  # fmt: skip


def test_only_an_answer_is_readable_with_one_fence_at_most() -> None:
    assert [text for text in UNREADABLE if parse_answer(text) is not None] == []
    plain = answer_text([finding(1, "find:1", "opacity")])
    assert parse_answer(f"  ```json\n{plain}\n```\n") == parse_answer(plain) is not None
