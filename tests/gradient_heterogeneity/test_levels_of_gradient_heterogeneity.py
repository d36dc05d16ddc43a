"""Every level of verification of gradient_heterogeneity is green on another processor."""

from levels_elsewhere import *  # noqa: F403

STUDY = "gradient_heterogeneity"
