"""The page of a study: what the paper claims, what holds, and the evidence.

It is made from results by a rule, or from the reference by a command that computes nothing.
"""

__all__ = ["captions", "command", "page", "page_rule"]
