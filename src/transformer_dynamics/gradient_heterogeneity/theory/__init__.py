"""What follows from definitions alone; the formulas are derived here, not quoted from the paper."""
