"""Metrics of trained models."""
