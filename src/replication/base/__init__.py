"""Files, errors and digests: the ground of all other rooms.

Settings are checked, files are written whole or not at all, and each file names the code that made
it. Every room may import this one, which imports none. Nothing here knows what a study computes;
messages may name claims, and a digest the contract of a study.
"""
