"""Tables of findings over time: what preceded a statement of a finding, and what became of it."""

from __future__ import annotations

from lunguage_assets.tables.columns import (
    A_STATED_ROW,
    A_STUDY,
    CANONICAL_NAME,
    DIAGNOSIS,
    INTERVAL,
    OF_RANKING,
    SEQUENCE,
    STATED_ID,
    STATUSES,
    STUDY,
    SUBJECT,
    code,
    integer,
    probability,
    row_id,
    text,
    whole,
)
from lunguage_assets.tables.schema import Present, Table

SAID = ("present", "tentative", "denied", "resolved")
ARRIVED = ("first study", "new", "stated before", "came back")
_FOLLOWED = ("carried forward", "confirmed", "refuted", "resolved")
BECAME = (*_FOLLOWED, "silent", "last study", "closed")
COURSES = ("", "improved", "worsened", "unchanged", "several")

FINDING_COURSES = Table(
    "finding_courses",
    "Statements of findings in the time line of their patient: how each arrived, and what became of it in "
    "the next study that speaks of it.",
    (
        STATED_ID,
        SUBJECT,
        STUDY,
        SEQUENCE,
        CANONICAL_NAME,
        text("place", "Its anatomical parts, sorted, comma-separated; empty when none is named"),
        DIAGNOSIS,
        code("status", "Certainty initial + polarity initial", STATUSES),
        code("said", "What the row says of the finding now", SAID),
        probability("prob", "Probability that the finding is present"),
        probability("p_low", "Lower end of the interval of prob"),
        probability("p_high", "Upper end of the interval of prob"),
        code("course", "Course that the row itself states; empty: none", COURSES),
        code("arrived", "first study: the patient has no earlier one; new: no earlier study states it; "
            "stated before: an earlier statement had not ended; came back: it had been denied or resolved",
            ARRIVED),
        code("became", "In the next study that speaks of it; silent: no later study does; last study: there "
            "is no later one; closed: the row itself denies or resolves", BECAME),
        row_id("next_id", "Finding id of the next statement; null where nothing follows", A_STATED_ROW,
            nullable=True),
        text("next_study_id", "Study of the next statement; null where nothing follows", nullable=True,
            pattern=whole(A_STUDY)),
        integer("silent_studies", "Studies of the patient that say nothing of it: until the next statement, "
            "or after the last one"),
        OF_RANKING,
    ),
    ("finding_id",),
    ordered=(INTERVAL,),
    present=(Present("next_id", "became", _FOLLOWED), Present("next_study_id", "became", _FOLLOWED)),
)  # fmt: skip

COURSE_COUNTS = Table(
    "course_counts",
    "What became of statements in the patient's next study that speaks of the finding: by diagnosis, and of "
    "tentative statements by fifth of p.",
    (
        code("by", "What the row counts: statements of a diagnosis, or tentative statements of any finding",
            ("diagnosis", "p of tentative findings")),
        text("value", "Diagnosis, 'other findings', or the fifth of p"),
        integer("statements", "Statements that a finding is present or may be"),
        integer("new", "Those that no earlier study of the patient states"),
        integer("came_back", "Those that an earlier study had denied or called resolved"),
        integer("carried_forward", "Stated again"),
        integer("confirmed", "Tentative, then definitely present"),
        integer("refuted", "Tentative, then definitely denied"),
        integer("resolved", "Said to be gone, or present and then denied"),
        integer("silent", "Mentioned by no later study although there is one"),
        integer("last_study", "In the patient's last study"),
    ),
    ("by", "value"),
)  # fmt: skip
"""What a release shows of `FINDING_COURSES`: counts, no row of a patient."""
