"""Files, errors and digests: the ground of all other rooms.

Settings are checked, files are written whole or not at all, and each file names the code that made
it. Nothing here knows a study, a claim or a job.
"""

__all__ = [
    "citation_file",
    "code_digest",
    "commit",
    "errors",
    "markdown",
    "places",
    "process",
    "provenance",
    "random_streams",
    "sandbox",
    "storage",
    "strict",
    "tables",
    "yaml_files",
]
