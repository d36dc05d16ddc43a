"""The programs of the stages of training on text."""
