"""The programs that the workflow's rules call, one per stage."""
