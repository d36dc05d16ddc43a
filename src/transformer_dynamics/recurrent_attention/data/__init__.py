"""Data: Sudoku puzzles with one solution each.

`boards.py` is the program that draws the puzzles of every split, with a file for each size of the
grid. Settings may be imported; no model enters.
"""
