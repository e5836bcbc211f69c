"""Keys of the providers' services, for tests behind real SDKs."""

KEYS = {
    "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k",
}  # fmt: skip
