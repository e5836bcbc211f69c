"""Asking a language model: flow control, retries, budget, progress."""
