"""Language models behind the providers' official SDKs, or in this process.

What belongs here: one attempt to get a reply, whoever the provider is. What does not:
when to try again, and what it may cost (`ask.py`).
"""
