"""The pieces of a text: what they cost, and which rows and sentence each has."""

from __future__ import annotations

from lunguage_assets.release.explain.marks import PHRASE, ReadSentence, ReadSpan, pieces

SAID = "Likely nodule. "
LOOKS: list[str] = []


class Watched(ReadSpan):
    """A span that notes every look at it."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> object:
        LOOKS.append(name)
        return super().__getattribute__(name)


class WatchedSentence(ReadSentence):
    """A sentence that notes every look at it."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> object:
        LOOKS.append(name)
        return super().__getattribute__(name)


def test_a_text_of_many_sentences_is_cut_without_looking_at_every_span_for_every_piece() -> None:
    size, many = len(SAID), 300
    begins = [number * size for number in range(many)]
    spans = [
        Watched(f"s:{begin}", column, begin + first, begin + last)
        for begin in begins
        for column, first, last in ((PHRASE, 0, 6), ("ent", 7, 13))
    ]
    sentences = [WatchedSentence("find", 0, begin, begin + size - 1, "findings", "") for begin in begins]
    LOOKS.clear()
    found = pieces(SAID * many, spans, sentences)
    assert len(LOOKS) < 20 * (len(spans) + len(sentences))
    assert "".join(piece.text for piece in found) == SAID * many
    assert [piece.rows for piece in found if piece.text == "nodule"] == [(f"s:{begin}",) for begin in begins]
    assert all(piece.sentence is not None for piece in found if piece.rows)


def test_a_piece_that_rows_share_has_all_of_them_and_is_of_the_first_kind() -> None:
    spans = [
        ReadSpan("s:1", "location", 0, 14),
        ReadSpan("s:2", "ent", 7, 13),
        ReadSpan("s:3", "ent", 20, 30),
    ]
    found = pieces(SAID, spans, [ReadSentence("find", 0, 0, 14, "findings", "")])
    assert [(piece.text, piece.kind, piece.rows) for piece in found] == [
        ("Likely ", "detail", ("s:1",)),
        ("nodule", "finding", ("s:2", "s:1")),
        (".", "detail", ("s:1",)),
        (" ", "outside", ()),
    ], "what lies outside of the text is no span of it"
