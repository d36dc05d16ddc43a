"""Figures: settings, table and picture of one figure per file."""
