"""What is exact: energies, Jacobians, exponents."""
