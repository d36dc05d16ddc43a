"""Programs that make an encoder, tokens and features ready to be read by runs."""
