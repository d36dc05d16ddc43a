"""Figures and tables of linear probing then fine-tuning."""
