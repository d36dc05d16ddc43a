"""Settings: pydantic models of corpora, training and metrics, which compute nothing."""
