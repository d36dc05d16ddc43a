"""A complete tiny replication of an invented paper: the template of a new one."""
