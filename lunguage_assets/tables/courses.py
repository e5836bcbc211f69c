"""Tables of findings over time: what preceded a statement of a finding, and what became of it."""

from __future__ import annotations

from lunguage_assets.tables.columns import (
    A_PATIENT,
    A_STATED_ROW,
    A_STUDY,
    INTERVAL,
    STATED_ID,
    STATUSES,
    STUDY,
    probability,
    text,
    whole,
)
from lunguage_assets.tables.schema import Column, Present, Table

SAID = ("present", "tentative", "denied", "resolved")
ARRIVED = ("first study", "new", "stated before", "came back")
BECAME = (
    "carried forward",
    "confirmed",
    "refuted",
    "resolved",
    "silent",
    "last study",
    "closed",
)
COURSES = ("", "improved", "worsened", "unchanged", "several")
_FOLLOWED = ("carried forward", "confirmed", "refuted", "resolved")

FINDING_COURSES = Table(
    "finding_courses",
    "Statements of findings in the time line of their patient: how each arrived, and what became of it in "
    "the next study that speaks of it.",
    (
        STATED_ID,
        text("subject_id", "Patient, 'p' and 8 to 18 digits", pattern=whole(A_PATIENT)),
        STUDY,
        Column("sequence", "int", "1-based rank of the study in the patient's time line", minimum=0),
        text("name", "Finding in canonical form"),
        text("place", "Its anatomical parts, sorted, comma-separated; empty when none is named"),
        text("diagnosis", "Diagnosis of the pathway dictionary, or empty"),
        Column("status", "string", "Certainty initial + polarity initial", choices=STATUSES),
        Column("said", "string", "What the row says of the finding now", choices=SAID),
        probability("prob", "Probability that the finding is present"),
        probability("p_low", "Lower end of the interval of prob"),
        probability("p_high", "Upper end of the interval of prob"),
        Column("course", "string", "Course that the row itself states; empty: none", choices=COURSES),
        Column(
            "arrived",
            "string",
            "first study: the patient has no earlier one; new: no earlier study states it; stated before: an "
            "earlier statement had not ended; came back: it had been denied or resolved",
            choices=ARRIVED,
        ),
        Column(
            "became",
            "string",
            "In the next study that speaks of it; silent: no later study does; last study: there is no later "
            "one; closed: the row itself denies or resolves",
            choices=BECAME,
        ),
        text(
            "next_id",
            "Finding id of the next statement; null where nothing follows",
            nullable=True,
            pattern=whole(A_STATED_ROW),
        ),
        text(
            "next_study_id",
            "Study of the next statement; null where nothing follows",
            nullable=True,
            pattern=whole(A_STUDY),
        ),
        Column(
            "silent_studies",
            "int",
            "Studies of the patient that say nothing of it: until the next statement, or after the last one",
            minimum=0,
        ),
        text("ranking_version", "Ranking that the probabilities come from"),
    ),
    ("finding_id",),
    ordered=(INTERVAL,),
    present=(
        Present("next_id", "became", _FOLLOWED),
        Present("next_study_id", "became", _FOLLOWED),
    ),
)

COURSE_COUNTS = Table(
    "course_counts",
    "What became of statements in the patient's next study that speaks of the finding: by diagnosis, and of "
    "tentative statements by fifth of p.",
    (
        Column(
            "by",
            "string",
            "What the row counts: statements of a diagnosis, or tentative statements of any finding",
            choices=("diagnosis", "p of tentative findings"),
        ),
        text("value", "Diagnosis, 'other findings', or the fifth of p"),
        Column("statements", "int", "Statements that a finding is present or may be", minimum=0),
        Column("new", "int", "Those that no earlier study of the patient states", minimum=0),
        Column("came_back", "int", "Those that an earlier study had denied or called resolved", minimum=0),
        Column("carried_forward", "int", "Stated again", minimum=0),
        Column("confirmed", "int", "Tentative, then definitely present", minimum=0),
        Column("refuted", "int", "Tentative, then definitely denied", minimum=0),
        Column("resolved", "int", "Said to be gone, or present and then denied", minimum=0),
        Column("silent", "int", "Mentioned by no later study although there is one", minimum=0),
        Column("last_study", "int", "In the patient's last study", minimum=0),
    ),
    ("by", "value"),
)
"""What a release shows of `FINDING_COURSES`: counts, no row of a patient."""
