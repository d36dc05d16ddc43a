"""The engine: from the claims of a paper, a folder with a `study.py`, to figures and verdicts."""
