"""The bundled prompts say what the method asks, a person's own replace them, and answers are read
strictly.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.model_judge import parse_label
from lunguage_assets.judges.prompts import LABELS, load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A person's copy of the templates."""
    shutil.copytree(resource("prompts"), tmp_path / "prompts")
    return tmp_path / "prompts"


def test_the_question_stands_last_and_the_prompt_ends_where_the_answer_begins() -> None:
    prompt = load_prompts().extraction(ExtractionQuestion("mass", "Maybe a mass.")).user
    assert prompt.endswith("finding: mass\nsentence: Maybe a mass.\nanswer:")


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
@settings(deadline=None)
def test_any_sentence_is_put_into_its_place_and_fills_no_other(one: str, two: str) -> None:
    marked = f"$sentence_2 ${{finding}} $$ {one}"
    prompt = load_prompts().comparison(ComparisonQuestion(marked, two)).user
    first, second = prompt.rsplit("sentence_1: ", 1)[1].rsplit("\nsentence_2: ", 1)
    assert first == " ".join(marked.split())
    assert second == " ".join(two.split()) + "\nanswer:"


def test_every_word_of_every_file_is_in_the_version_and_no_line_ending(own: Path) -> None:
    versions = {load_prompts().version, load_prompts(own).version}
    assert len(versions) == 1
    for file in sorted(own.rglob("*.txt")):
        file.write_text(file.read_text(encoding="utf-8").replace(".", "!", 1), encoding="utf-8")
        versions.add(load_prompts(own).version)
    assert len(versions) == 5
    before = load_prompts(own)
    assert before.extraction(ExtractionQuestion("a", "b")).template_version == before.version
    for file in own.rglob("*.txt"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert load_prompts(own).version == before.version


def test_a_person_can_replace_the_templates(own: Path) -> None:
    (own / "comparison" / "user.txt").write_text(
        "Which costs $$1? $sentence_2 or $sentence_1", encoding="utf-8"
    )
    (own / "comparison" / "system.txt").write_text("Judge.", encoding="utf-8")
    prompt = load_prompts(own).comparison(ComparisonQuestion("one", "two"))
    assert (prompt.system, prompt.user) == ("Judge.", "Which costs $1? two or one")


@pytest.mark.parametrize(("file", "text", "problem"), [
    ("extraction/user.txt", "Look at $sentence", r"\$sentence; expected a prompt with \$finding, \$sentence"),
    ("extraction/user.txt", "$finding $sentence $colour", r"\$colour"),
    ("comparison/user.txt", "$sentence_1 $sentence_2 costs $ 5", r"Write a dollar sign as \$\$"),
    ("comparison/system.txt", "You judge $finding", "no places"),
    ("extraction/system.txt", "  \n", "an empty file"),
    ("comparison/user.txt", None, "cannot be read"),
])  # fmt: skip
def test_a_template_that_cannot_be_used_is_named(
    own: Path, file: str, text: str | None, problem: str
) -> None:
    if text is None:
        (own / file).unlink()
    else:
        (own / file).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"{re.escape(str(own / file))}.*{problem}"):
        load_prompts(own)


@pytest.mark.parametrize("text", [
    "sentence_1", " sentence_1\n", "Sentence_1.", '"sentence_1"', "**sentence_1**", "Answer: sentence_1",
    "answer :'SENTENCE_1'!", "`sentence_1`", "(sentence_1)", "Answer: **sentence_1**",
])  # fmt: skip
def test_a_label_is_read_through_quotes_punctuation_and_case(text: str) -> None:
    assert parse_label(text, LABELS) == "sentence_1"


@pytest.mark.parametrize("text", [
    "", " ", "sentence", "sentence_12", "sentence_3", "1", "Sentence 1", "sentence_1 sentence_2",
    "sentence_1 or sentence_2", "sentence_1 because it is firmer",
    "The answer is sentence_1", "Answer: Answer: sentence_1", "not sentence_1", "sentence_1\nsentence_2",
    '{"answer": "sentence_1"}', "Reply: sentence_1",
])  # fmt: skip
def test_anything_else_is_no_label(text: str) -> None:
    assert parse_label(text, LABELS) is None


@given(st.text(max_size=30))
@settings(deadline=None)
def test_no_text_makes_the_parser_fail_or_give_what_was_not_asked(text: str) -> None:
    assert parse_label(text, LABELS) in (None, *LABELS)
