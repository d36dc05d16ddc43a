"""Settings: pydantic models of data, training and metrics, which compute nothing."""
