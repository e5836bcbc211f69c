"""Language models as structurers: how they are asked, and what is believed of them.

How requests are sent, counted and remembered is no matter of this folder (`judges/`).
"""
