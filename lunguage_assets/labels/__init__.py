"""What a study is labelled, and our labels beside those of others (docs/trust.md).

Here: evidence for a label, labels of a study, targets for training, calibration.
Not here: which labels there are (`implicit/statements/label_file.py`).
"""
