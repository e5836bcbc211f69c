"""The release: what leaves the platform as files, in the published form and with provenance."""
