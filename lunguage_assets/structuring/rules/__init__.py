"""The offline structurer: findings by rules, without model and network (method.md 7).

`structurer.py` is the way of one sentence; every step of it is a module of this folder.
What denies, hedges or ends is read by `assertion/`; what the words mean is data
(`resources/structuring/`).
"""
