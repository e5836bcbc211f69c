"""The offline structurer: reads findings by rules, without model and network (method.md section 7).

Words are tagged (`lexicon.py`, `tagging.py`), what is not about the patient now is set apart (`context.py`),
denials and hedges get their reach (`scope.py`), words are joined to phrases (`phrases.py`) and phrases to
rows (`structurer.py`). What the words mean is data: `resources/structuring/`.
"""
