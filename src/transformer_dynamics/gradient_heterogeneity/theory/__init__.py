"""Mathematics of unequal gradients, which follows from definitions alone.

The formulas are derived here, not quoted from the paper. `curvature` has the iterations that find
eigenvalues, the released one among them. No module here knows a setting, a file or a network.
"""
