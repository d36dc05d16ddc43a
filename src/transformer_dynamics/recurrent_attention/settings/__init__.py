"""Settings: everything that the configuration can say about this study.

Pydantic models enter, one file per section: boards, models, training, metrics, tuning, token norms.
`configuration.py` puts them together and refuses what cannot be computed.
Nothing here computes, and no file imports another room.
"""
