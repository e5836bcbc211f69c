"""Findings over time: which statement follows which, and what each became."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import Said, dictionary, run, said
from profiles import examples

from lunguage_assets.implicit.statements.courses import course_counts, finding_courses
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.tables import FINDING_COURSES
from lunguage_assets.tables.courses import COURSE_COUNTS


@lru_cache(maxsize=1)
def labels() -> LabelList:
    return load_label_list(None, dictionary())


@dataclass
class Time:
    """One patient's studies, each a list of findings, in order."""

    courses: pd.DataFrame

    def of(self, study: int, name: str) -> dict[str, object]:
        rows = self.courses[(self.courses["sequence"] == study) & (self.courses["name"] == name)]
        assert len(rows) == 1, rows
        return dict(rows.iloc[0])

    def became(self, study: int, name: str) -> object:
        return self.of(study, name)["became"]


def study_id(number: int) -> str:
    return f"s{number:08d}"


def tables(
    studies: Sequence[Sequence[Said]], patient: str = "p00000001", first: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """REPORTS and LUNGUAGE_PLUS_PLUS of one patient; a study without findings has a report, too. Studies are
    numbered from `first`.
    """
    rows = [replace(one, study=study_id(n)) for n, findings in enumerate(studies, first) for one in findings]
    outcome = run(rows)
    place = {study_id(n): n - first + 1 for n in range(first, first + len(studies))}
    result = outcome.resolution.rows
    result = result.assign(sequence=result["study_id"].map(place), subject_id=patient)
    reports = pd.DataFrame({"study_id": list(place), "subject_id": patient, "sequence": list(place.values())})
    return reports, result


def over_time(*studies: Sequence[Said]) -> Time:
    courses = finding_courses([tables(studies)], labels(), "v1")
    FINDING_COURSES.to_arrow(courses)
    return Time(courses)


def test_a_tentative_finding_is_confirmed_by_a_definite_statement_and_refuted_by_a_denial() -> None:
    time = over_time(
        [said("opacity", "tp", p=0.3), said("pneumothorax", "tp", p=0.7)],
        [said("opacity"), said("pneumothorax", "dn")],
    )
    assert time.became(1, "opacity") == "confirmed"
    assert time.became(1, "pneumothorax") == "refuted"
    assert time.of(1, "opacity")["next_study_id"] == study_id(2)
    assert time.of(2, "pneumothorax")["became"] == "closed"


def test_a_present_finding_is_carried_forward_then_resolved_by_a_denial() -> None:
    time = over_time([said("pleural effusion")], [said("pleural effusion")], [said("pleural effusion", "dn")])
    assert [time.became(study, "pleural effusion") for study in (1, 2, 3)] == [
        "carried forward",
        "resolved",
        "closed",
    ]
    assert time.of(1, "pleural effusion")["arrived"] == "first study"
    assert time.of(2, "pleural effusion")["arrived"] == "stated before"


def test_what_a_report_calls_resolved_is_resolved_although_it_is_stated_as_positive() -> None:
    time = over_time([said("pulmonary edema")], [said("pulmonary edema", improved="resolved")])
    assert time.became(1, "pulmonary edema") == "resolved"
    assert time.of(2, "pulmonary edema")["said"] == "resolved"


def test_a_denial_without_a_place_refutes_the_one_on_the_left_and_one_on_the_right_does_not() -> None:
    left = said("pleural effusion", "tp", location="left", p=0.5)
    assert over_time([left], [said("pleural effusion", "dn")]).became(1, "pleural effusion") == "refuted"
    other = over_time([left], [said("pleural effusion", "dn", location="right")])
    assert other.became(1, "pleural effusion") == "silent"


def test_a_statement_at_a_larger_or_smaller_place_carries_a_finding_forward() -> None:
    time = over_time(
        [said("pleural effusion", location="left")],
        [said("pleural effusion", location="bilateral")],
        [said("pleural effusion", location="right")],
    )
    assert time.became(1, "pleural effusion") == time.became(2, "pleural effusion") == "carried forward"


def test_a_heart_of_normal_size_refutes_tentative_cardiomegaly() -> None:
    time = over_time([said("cardiomegaly", "tp", p=0.4)], [said("heart size", measurement="normal")])
    assert time.became(1, "cardiomegaly") == "refuted"


def test_silence_is_neither_confirmed_nor_refuted_and_counts_the_silent_studies() -> None:
    time = over_time([said("opacity", "tp", p=0.4)], [], [said("rib fracture")])
    assert time.became(1, "opacity") == "silent"
    assert time.of(1, "opacity")["silent_studies"] == 2
    assert time.became(3, "rib fracture") == "last study"
    assert time.of(3, "rib fracture")["arrived"] == "new"
    bridged = over_time([said("opacity", "tp", p=0.4)], [], [said("opacity")])
    assert bridged.of(1, "opacity")["became"] == "confirmed"
    assert bridged.of(1, "opacity")["silent_studies"] == 1


def test_a_finding_that_was_denied_and_is_stated_again_came_back() -> None:
    time = over_time([said("pneumothorax")], [said("pneumothorax", "dn")], [said("pneumothorax")])
    assert time.of(3, "pneumothorax")["arrived"] == "came back"


def test_past_and_generated_findings_have_no_course_and_a_lone_denial_has_none() -> None:
    time = over_time([said("pneumonia", section="hist"), said("pneumothorax", "dn"), said("CHF")])
    assert time.courses["finding_id"].tolist() == [f"{study_id(1)}:2"]


findings = st.builds(
    said,
    st.sampled_from(["opacity", "pleural effusion", "cardiomegaly", "pneumothorax"]),
    st.sampled_from(["dp", "dn", "tp", "tn"]),
    location=st.sampled_from(["", "left", "right", "bilateral"]),
    improved=st.sampled_from(["", "", "resolved", "improved"]),
)
time_lines = st.lists(st.lists(findings, max_size=4), min_size=1, max_size=5)


@given(time_lines, time_lines)
@examples(15)
def test_every_open_statement_is_there_once_and_parts_may_be_cut_anywhere(
    first: list[list[Said]], second: list[list[Said]]
) -> None:
    reports, rows = tables(first)
    whole = finding_courses([(reports, rows)], labels(), "v1")
    FINDING_COURSES.to_arrow(whole)
    cut = len(reports) // 2
    parts = [(part, rows[rows["study_id"].isin(part["study_id"])]) for part in (reports[:cut], reports[cut:])]
    pd.testing.assert_frame_equal(whole, finding_courses(parts, labels(), "v1"))
    followed = whole[whole["next_id"].notna()]
    assert set(followed["next_id"]) <= set(whole["finding_id"])
    assert set(whole.loc[whole["became"] == "last study", "sequence"]) <= {len(first)}
    both = finding_courses([(reports, rows), tables(second, "p00000002", 51)], labels(), "v1")
    pd.testing.assert_frame_equal(whole, both[both["subject_id"] == "p00000001"])


def test_counts_are_by_diagnosis_and_tentative_ones_by_fifth_of_p() -> None:
    time = over_time(
        [said("opacity", "tp", p=0.3), said("pneumothorax", "tp", p=0.95)],
        [said("opacity", "dn"), said("pneumothorax")],
    )
    counts = course_counts(time.courses)
    COURSE_COUNTS.to_arrow(counts)
    by = {(row["by"], row["value"]): row for row in counts.to_dict("records")}
    assert by["p of tentative findings", "0.2 to 0.4"]["refuted"] == 1
    assert by["p of tentative findings", "0.8 to 1.0"]["confirmed"] == 1
    assert by["diagnosis", "pneumothorax"]["statements"] == 2
    fates = ["carried_forward", "confirmed", "refuted", "resolved", "silent", "last_study"]
    assert (counts[fates].sum(axis=1) == counts["statements"]).all()
    assert Counter(counts["by"])["p of tentative findings"] == 5


@pytest.mark.parametrize("part", [0, 1])
def test_studies_of_nobody_have_no_course(part: int) -> None:
    reports, rows = tables([[said("opacity")]] * (part + 1))
    assert finding_courses([(reports.assign(subject_id=""), rows)], labels(), "v1").empty
