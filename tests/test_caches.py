"""What is remembered has bounds, in number and in length."""

from __future__ import annotations

from lunguage_assets.caches import LONGEST, remembered


def test_an_answer_is_remembered_until_others_take_its_place() -> None:
    questions: list[str] = []
    answer = remembered(lambda text: questions.append(text) or len(text), entries=2)
    assert [answer(text) for text in ("a", "a", "b", "c", "a")] == [1] * 5
    assert questions == ["a", "b", "c", "a"]


def test_a_long_text_is_not_kept() -> None:
    questions: list[str] = []
    answer = remembered(lambda text: questions.append(text) or 0)
    for _ in range(2):
        answer("x" * (LONGEST + 1))
    assert len(questions) == 2
