"""Figures: settings, table and drawing of one figure per file."""
