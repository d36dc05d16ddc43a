"""Data: Sudoku puzzles with one solution each.

`boards.py` is the program that draws the puzzles of every split; there is a file for each size of
the grid, and one for what they share. `grids.py` has the rules of Sudoku and a solver.
Settings may be imported; no model enters.
"""
