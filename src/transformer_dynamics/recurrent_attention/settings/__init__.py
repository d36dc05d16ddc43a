"""Settings: everything that the configuration can say about this study, one file per section.

`configuration.py` puts them together and refuses settings that cannot be computed. Nothing here
computes, and no file imports another room.
"""
