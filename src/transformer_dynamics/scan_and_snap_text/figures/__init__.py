"""The drawings of training on text."""
