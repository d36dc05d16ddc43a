"""Sudoku boards with one solution."""
