"""Figures 7 and 10: a small transformer trained on the words of WikiText."""
