"""The description of experts as the paper publishes it: a row per question, a column per expert
(explicit.md section 4).

It is turned into the form that `experts.py` reads, a row per expert.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lunguage_assets.corpus.records import Record
from lunguage_assets.errors import InputError

_ASKED = (
    ("years_of_experience", ("years", "experience")),
    ("occupation", ("occupation", "profession", "specialty")),
    ("role", ("role", "writer", "reader")),
)
"""Column -> words of a question that asks for it; the first that fits counts."""
COLUMNS = ["expert", *(column for column, _ in _ASKED)]


def transposed(
    header: Sequence[str], records: Iterable[Record], file: str, problems: list[InputError]
) -> tuple[list[str], Iterator[Record]]:
    """Column names and a record per expert, numbered by the expert's column from 1.

    Columns without a name, and one named number or id, are nobody's. A broken row, a question that asks for
    nothing known and one that is asked again are noted in `problems` and left out.

    Raises:
        InputError: no question asks for occupation, experience or role.
    """
    folded = [name.strip().lower() for name in header]
    question = folded.index("question")
    places = [i for i, name in enumerate(folded) if name not in ("", "question", "number", "no", "id")]
    answers: dict[str, list[str]] = {}
    for record in records:
        column, found = _asked_for(record, question)
        if column and column in answers:
            found = f"a second question about {column}"
        if found:
            expected = "questions about occupation, years of experience or role, each once"
            problems.append(
                InputError(
                    file,
                    found,
                    expected,
                    "Mend or delete the row.",
                    row=record.number,
                    column=None if record.broken else header[question],
                )
            )
        else:
            answers[column] = record.values
    if not answers:
        raise InputError(
            file,
            "no row that asks for occupation, years of experience or role",
            "such questions in column question, and a column per expert",
            "Mend the questions, or describe the experts as `lunguage survey make` does: a row per expert.",
            column=header[question],
        )
    turned = (
        Record(number, [header[i], *(answers[name][i] if name in answers else "" for name in COLUMNS[1:])])
        for number, i in enumerate(places, start=1)
    )
    return list(COLUMNS), turned


def _asked_for(record: Record, question: int) -> tuple[str, str]:
    """The column that a row's question asks for, or what is wrong with the row."""
    if record.broken:
        return "", record.found
    words = record.values[question].lower()
    column = next((column for column, signs in _ASKED if any(sign in words for sign in signs)), "")
    return column, "" if column else "another question"
