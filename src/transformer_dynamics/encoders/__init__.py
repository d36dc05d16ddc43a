"""Pretrained text encoders, sets of labelled texts, and measures of their features.

The studies of fine-tuning share this package, which is no study.
"""
