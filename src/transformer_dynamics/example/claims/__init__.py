"""What the claims of the registry are judged by."""
