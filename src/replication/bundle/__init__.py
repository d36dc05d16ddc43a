"""The bundle of a study: its numbers and verdicts, as a run leaves them or as git keeps them.

Everything that shows or compares results reads bundles: pages, documents, verification, crates.
A reference is a bundle in git.
"""
