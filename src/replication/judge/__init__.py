"""From evidence to verdicts: tests, verdicts on claims, marks of an abstract's sentences.

Numbers come in as tables and go out as verdicts, and as texts that cite them. Nothing here knows by
which job a table was made.
"""

__all__ = ["abstract", "citation", "judgement", "scorecard", "sensitivity", "statistics"]
