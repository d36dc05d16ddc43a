"""Files, errors and digests: what every other room stands on.

Settings are checked, files are written whole or not at all, and each says by which code it was
made. Nothing here knows a study, a claim or a job.
"""

__all__ = [
    "code_digest",
    "commit",
    "errors",
    "markdown",
    "process",
    "provenance",
    "random_streams",
    "sandbox",
    "storage",
    "strict",
    "tables",
    "yaml_files",
]
