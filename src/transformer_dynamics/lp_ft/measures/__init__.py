"""What is measured on trained runs, one metric a module."""
