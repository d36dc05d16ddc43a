"""One job: its program, its checkpoints, and the download of its data.

A process starts here with the words that the plan gave it, and writes one file or a few.
"""

__all__ = ["checkpoint", "fetch", "program"]
