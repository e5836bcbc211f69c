"""The offline structurer: reads findings by rules, without model and network (method.md section 7).

The reader of doubt (`assertion/`) says how every word is meant. Here a delivered vocabulary widens its
words (`lexicon.py`), words are joined to phrases (`phrases.py`, `drafts.py`), judgements of one organ are
told apart (`judgements.py`), a sentence points back to the one before (`back.py`), and phrases become rows
(`structurer.py`). What the words mean is data: `resources/structuring/`. What denies, hedges or ends is no
business of this room.
"""
