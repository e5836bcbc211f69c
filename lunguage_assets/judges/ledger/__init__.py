"""Paid answers, kept before they are used."""
