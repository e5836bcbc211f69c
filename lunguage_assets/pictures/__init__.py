"""Plots, drawn once."""
