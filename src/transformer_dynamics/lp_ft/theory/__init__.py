"""The paper's theory as functions: every symbol and statement can be computed and checked."""
