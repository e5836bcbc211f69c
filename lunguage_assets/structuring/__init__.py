"""From a report's text to rows in the Lunguage structure.

`text` cuts reports into sections and sentences; `rules` and `model` say what
the sentences state (`contract`); `rows` writes it as tables. How a finding is
meant, denied or doubted, is read by `assertion/`.
"""
