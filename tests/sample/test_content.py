"""What the synthetic reports say: proportions near the published ones, full coverage, and coherence apart
from intended contradictions.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from sample_corpus import (
    PUBLISHED_PHRASES,
    RARER_PHRASES,
    Row,
    Sample,
    cell,
    diagnoses,
    hedges_of,
    mention,
    spoken,
    status,
    tentative,
)

from lunguage_assets.sample import synthetic_studies
from lunguage_assets.sample.knowledge import knowledge
from lunguage_assets.sample.planning import deal
from lunguage_assets.sample.records import Study

DOUBT = re.compile(
    r"\b(?:possib|prob|likely|may\b|might|could|suspect|question|suggest|appear|doubt|definite|perhaps|exclu)"
)


def tentative_rows(sample: Sample) -> list[Row]:
    return [row for row in spoken(sample.rows) if tentative(row)]


# -- proportions


def test_a_report_has_about_nine_and_a_half_findings_and_two_rows_of_history(sample: Sample) -> None:
    findings = len(spoken(sample.rows)) / 800
    assert len(sample.studies) == 800
    assert 9.0 <= findings <= 10.0
    assert 1.7 <= len(sample.rows) / 800 - findings <= 2.5


def test_about_fifteen_percent_of_the_findings_are_tentative_and_many_are_denied(sample: Sample) -> None:
    counts = Counter(status(row) for row in spoken(sample.rows))
    total = sum(counts.values())
    assert 0.135 <= (counts["tp"] + counts["tn"]) / total <= 0.165
    assert counts["dn"] / total > 0.25
    assert counts["tn"] >= 20


def test_the_summary_counts_what_the_files_hold(sample: Sample) -> None:
    summary = sample.summary
    assert (summary.reports, summary.images) == (800, len(sample.images))
    assert summary.findings + summary.history == len(sample.rows)
    assert (summary.findings, summary.tentative) == (len(spoken(sample.rows)), len(tentative_rows(sample)))
    assert summary.patients == len({row["subject_id"] for row in sample.rows})


@examples(10)
@given(seed=st.integers(0, 10**6), block=st.integers(0, 50))
def test_every_block_of_two_hundred_reports_is_dealt_its_whole_quota(seed: int, block: int) -> None:
    known = knowledge()
    allotments = deal(block, seed, known)
    hedges = Counter(hedge.phrase for allotment in allotments for hedge in allotment.hedges)
    assert hedges == {phrase: hedge.uses for phrase, hedge in known.hedges.items()}
    assert Counter(a.situation.name for a in allotments) == {
        situation.name: situation.per_block for situation in known.situations
    }
    dealt = {(a.variant[0].name, a.variant[1].words) for a in allotments if a.variant is not None}
    assert dealt == {
        (disorder.name, words) for disorder in known.disorders.values() for words in disorder.variants
    }
    assert len(allotments) == 200


# -- hedging


def test_every_published_phrase_hedges_fourteen_locatable_findings_or_more(
    sample: Sample,
) -> None:
    used = Counter(phrase for row in tentative_rows(sample) for phrase in set(hedges_of(row)))
    assert len(PUBLISHED_PHRASES) == 42
    assert {phrase: used[phrase] for phrase in PUBLISHED_PHRASES if used[phrase] < 14} == {}


def test_or_likely_and_may_are_the_most_frequent_phrases_as_in_the_published_corpus(sample: Sample) -> None:
    used = Counter(phrase for row in tentative_rows(sample) for phrase in set(hedges_of(row)))
    assert [phrase for phrase, _ in used.most_common(3)] == ["or", "likely", "may"]
    assert used["or"] > 4 * used["less likely"]


def test_rarer_phrases_occur_fewer_than_ten_times(sample: Sample) -> None:
    used = Counter(phrase for row in tentative_rows(sample) for phrase in set(hedges_of(row)))
    assert all(1 <= used[phrase] < 10 for phrase in RARER_PHRASES)


def test_every_tentative_finding_that_can_be_located_is_hedged_by_a_known_phrase(sample: Sample) -> None:
    unhedged = [
        row["sent"]
        for row in tentative_rows(sample)
        if mention(row["ent"]).search(row["sent"].lower()) and not hedges_of(row)
    ]
    assert {DOUBT.search(sentence.lower()) is not None for sentence in unhedged} <= {True}
    assert len(unhedged) < 10  # "probably no", "no definite"


def test_about_one_percent_of_tentative_findings_cannot_be_located_in_their_sentence(sample: Sample) -> None:
    rows = tentative_rows(sample)
    lost = [row for row in rows if not mention(row["ent"]).search(row["sent"].lower())]
    assert 0.005 <= len(lost) / len(rows) <= 0.02


def test_masked_sentences_are_mostly_distinct(sample: Sample) -> None:
    masked = {mention(row["ent"]).sub("<finding>", row["sent"].lower()) for row in tentative_rows(sample)}
    assert len(masked) > 0.9 * len(tentative_rows(sample))


def test_a_phrase_is_used_with_different_strength_of_context(sample: Sample) -> None:
    text = " ".join(row["sent"].lower() for row in sample.rows)
    for strong, weak in (
        ("strongly suggest", "weakly suggest"),
        ("highly concerning for", "mildly concerning for"),
    ):
        assert strong in text
        assert weak in text


def test_sentences_mix_hedges_certainties_and_equal_names(sample: Sample) -> None:
    sentences = defaultdict(list)
    for row in spoken(sample.rows):
        sentences[(row["study_id"], row["section"], row["sent_idx"])].append(row)
    kinds: Counter[str] = Counter()
    for rows in sentences.values():
        doubtful = [row for row in rows if tentative(row)]
        kinds["different hedges"] += len({tuple(hedges_of(row)) for row in doubtful}) > 1
        kinds["definite and tentative"] += 0 < len(doubtful) < len(rows)
        kinds["same name in doubt"] += len({row["ent"] for row in doubtful}) < len(doubtful)
        kinds["same name"] += len({row["ent"] for row in rows}) < len(rows)
    assert kinds["different hedges"] >= 50
    assert kinds["definite and tentative"] >= 200
    assert kinds["same name in doubt"] >= 6
    assert kinds["same name"] >= 20


# -- coverage


def test_all_diagnoses_and_most_of_their_spellings_occur(sample: Sample) -> None:
    used = {row["ent"].lower() for row in spoken(sample.rows)}
    assert len(diagnoses()) == 14
    assert all(spellings & used for spellings in diagnoses().values())
    assert len(set().union(*diagnoses().values()) & used) >= 80


def test_every_diagnosis_is_stated_for_certain_and_in_doubt(sample: Sample) -> None:
    stated = {
        (name, status(row))
        for row in spoken(sample.rows)
        for name, spellings in diagnoses().items()
        if row["ent"].lower() in spellings
    }
    assert {(name, kind) for name in diagnoses() for kind in ("dp", "tp")} <= stated


def test_every_view_situation_occurs(sample: Sample) -> None:
    views = defaultdict(list)
    for image in sample.images:
        views["s" + image["study_id"]].append(
            (image["ViewPosition"], image["PatientOrientationCodeSequence_CodeMeaning"])
        )
    found = {tuple(sorted(images)) for images in views.values()}
    for expected in (
        [("LATERAL", "Erect"), ("PA", "Erect")], [("LL", "Erect"), ("PA", "Erect")],
        [("LATERAL", ""), ("PA", "")], [("AP", "")], [("AP", "Erect")], [("AP", "Supine")],
        [("AP", "Recumbent")], [("LATERAL", "")], [("AP", ""), ("LATERAL", "")], [("AP", ""), ("PA", "")],
        [("AP", "Erect"), ("AP", "Supine")], [("AP", "Erect"), ("AP", "Recumbent"), ("AP", "Supine")],
        [("", "")],
    ):  # fmt: skip
        assert tuple(sorted(expected)) in found
    told = {
        image["PerformedProcedureStepDescription"] for image in sample.images if not image["ViewPosition"]
    }
    assert {"CHEST (PORTABLE AP)", "CHEST (PA AND LAT)", "CHEST (PORTABLE AP) SUPINE", "DX CHEST"} <= told
    assert sample.studies.keys() - views.keys()


def test_every_attribute_and_category_is_used(sample: Sample) -> None:
    columns = list(sample.rows[0])[14:]
    filled = {column for row in sample.rows for column in columns if cell(row[column])}
    assert filled == set(columns)
    assert {row["cat"].upper() for row in sample.rows} == {"PF", "CF", "OTH", "COF", "NCD", "PATIENT INFO."}


def test_history_holds_symptoms_and_past_diseases_and_marks_old_findings(sample: Sample) -> None:
    history = [row for row in sample.rows if row["section"] == "hist"]
    assert sum(row["cat"].upper() == "PATIENT INFO." for row in history) > len(history) / 3
    assert sum(bool(cell(row["past hx"])) for row in history) > 50
    assert {"old", "remote", "status post"} <= {cell(row["past hx"]) for row in spoken(sample.rows)}


def test_devices_break_too(sample: Sample) -> None:
    broken = {cell(row["location"]) for row in sample.rows if row["ent"].lower() == "fracture"}
    assert {"pacemaker lead", "sternotomy wire"} <= broken


def test_the_impression_says_the_same_finding_in_other_words_or_abbreviated(sample: Sample) -> None:
    pairs: Counter[str] = Counter()
    for rows in sample.studies.values():
        find = {row["ent"].lower() for row in rows if row["section"] == "find"}
        places = {cell(row["location"]) for row in rows if row["section"] == "find"}
        for row in (row for row in rows if row["section"] == "impr"):
            pairs["effusion"] += row["ent"].lower() == "effusion" and "pleural effusion" in find
            pairs["RUL"] += cell(row["location"]) == "RUL" and "right upper lobe" in places
            pairs["short"] += row["ent"].lower() in ("pna", "ptx", "chf", "tb", "fx")
    assert pairs["effusion"] >= 5
    assert pairs["RUL"] >= 3
    assert pairs["short"] >= 10


def test_near_twins_differ_in_side_level_or_size(sample: Sample) -> None:
    twins = set()
    for rows in sample.studies.values():
        find = [row for row in rows if row["section"] == "find" and status(row) == "dp"]
        for one in find:
            for other in find:
                if one["ent"] == other["ent"] and one is not other:
                    twins.add(
                        (
                            one["ent"],
                            cell(one["location"]),
                            cell(other["location"]),
                            cell(one["measurement"]),
                            cell(other["measurement"]),
                        )
                    )
    assert any(
        ent == "pleural effusion" and (left, right) == ("left", "right") for ent, left, right, *_ in twins
    )
    assert any((first, second) == ("right upper lobe", "right lower lobe") for _, first, second, *_ in twins)
    assert any(
        (small, large) == ("5 mm", "8 mm") and first == second for _, first, second, small, large in twins
    )


def test_implied_sub_findings_are_denied_stated_and_stated_in_doubt(sample: Sample) -> None:
    kinds = set()
    for rows in sample.studies.values():
        said = {(row["normed_ent"], status(row)) for row in spoken(rows)}
        kinds |= {
            ("edema", state)
            for state in ("dn", "tp", "dp")
            if {("pulmonary edema", "dp"), ("pleural effusion", state)} <= said
        }
        kinds |= {
            ("atelectasis", state)
            for state in ("dn", "dp")
            if {("atelectasis", "dp"), ("volume loss", state)} <= said
        }
    assert kinds == {
        ("edema", "dn"),
        ("edema", "tp"),
        ("edema", "dp"),
        ("atelectasis", "dn"),
        ("atelectasis", "dp"),
    }


# -- coherence


def conflicts(study: Study) -> set[str]:
    """Kinds of disagreement about one current finding at one place, past findings left out."""
    said = defaultdict(list)
    for fact in study.facts:
        if fact.section != "hist" and not fact.attributes.get("past hx"):
            said[(fact.term.canonical, fact.location)].append(fact.status)
    kinds = set()
    for states in said.values():
        kinds |= {"polarity"} if len({state[1] for state in states}) > 1 else set()
        kinds |= {"certainty_pos"} if {"dp", "tp"} <= set(states) else set()
        kinds |= {"certainty_neg"} if {"dn", "tn"} <= set(states) else set()
    return kinds


def test_six_percent_of_the_reports_contradict_themselves_in_every_way(sample: Sample) -> None:
    studies = list(synthetic_studies(800, 0))
    intended = Counter(study.contradiction for study in studies if study.contradiction)
    assert intended.keys() == {"polarity", "certainty_pos", "certainty_neg", "duplicate_pos", "duplicate_neg"}
    assert 0.05 <= sum(intended.values()) / 800 <= 0.08
    for study in studies:
        assert conflicts(study) == (
            {study.contradiction} if study.contradiction and "duplicate" not in study.contradiction else set()
        )


@examples(6)
@given(seed=st.integers(1, 10**6))
def test_no_report_contradicts_itself_unless_it_is_meant_to(seed: int) -> None:
    for study in synthetic_studies(200, seed):
        assert study.contradiction or conflicts(study) == set()


def test_no_report_repeats_a_sentence(sample: Sample) -> None:
    for rows in sample.studies.values():
        sentences = {(row["section"], row["sent_idx"]): row["sent"] for row in rows}
        assert len(set(sentences.values())) == len(sentences)


# -- language

PLURAL = (
    r"(?:opacities|effusions|changes|markings|lines|lucencies|nodules|fractures|lesions|densities|"
    r"deformities|contours|structures)"
)
SINGULAR = (
    r"(?:opacity|effusion|atelectasis|edema|pneumonia|nodule|fracture|deformity|consolidation|lesion|"
    r"blunting|cardiomegaly|scarring)"
)
FAULTS = {
    "a before a vowel": r"\b[Aa] (?=[aeio]|un(?!i)|ul|8 |11 |[LR][UL]L|RML)",
    "an before a consonant": r"\b[Aa]n (?=[bcdfghjklmnpqrstvwyz]|T\d|[234567]|12)",
    "plural with singular verb": (
        rf"(?:^|there (?:is|are) )(?:[\w-]+ ){{0,4}}{PLURAL} "
        r"(?:is|has|reflects|represents|suggests|raises|leaves)\b"
    ),
    "singular with plural verb": (
        rf"(?:^|\. )(?:[\w-]+ ){{0,4}}{SINGULAR} "
        r"(?:are|have|reflect|represent|suggest|raise|leave)\b(?! both)"
    ),
    "there is + plural": rf"[Tt]here is (?:[\w-]+ ){{0,4}}{PLURAL}\b",
    "there are + singular": rf"[Tt]here are (?!.* and )(?:(?!suggesting|from)[\w-]+ ){{0,4}}{SINGULAR}\b",
    "unfilled or doubled": r"[{}\[\]|]|  |\.\.|,,| [,.]|\b(\w+) \1\b",
}


@pytest.mark.parametrize("seed", range(4))
def test_sentences_have_no_grammatical_faults_that_a_pattern_can_find(seed: int) -> None:
    for study in synthetic_studies(200, seed):
        for sentence in (sentence for sentences in study.sections.values() for sentence in sentences):
            assert sentence.text[0].isupper() or sentence.text[0].isdigit()
            assert sentence.text.endswith(".")
            faults = {fault for fault, pattern in FAULTS.items() if re.search(pattern, sentence.text)}
            assert (
                faults - ({"singular with plural verb"} if "both seen" in sentence.text else set()) == set()
            ), sentence.text
