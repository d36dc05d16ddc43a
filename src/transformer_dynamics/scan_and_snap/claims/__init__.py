"""What is measured to judge each claim of the paper."""
