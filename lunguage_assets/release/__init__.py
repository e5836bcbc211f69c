"""What leaves the platform as files, in the published form and with provenance.

Here: writing a release, its report, why a row is there.
Not here: labels (`labels/`), which release is the newest (`workspace/versions.py`).
"""
