"""The measuring stick: comparisons of phrases and the ranking that they give (explicit.md sections 2 and
3).
"""
