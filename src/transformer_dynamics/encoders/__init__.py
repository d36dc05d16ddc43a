"""Pretrained text encoders, sets of labelled texts and what is measured on their features.

No study: what the studies of fine-tuning share.
"""
