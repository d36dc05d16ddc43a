"""The repository that an outsider starts with: one paper, its tests, its lock and its page.

The template gives a working replication of an invented paper. Marks say in each file what is still
the template's; no reference is written while one is left. Nothing in another room depends on this
one.
"""
