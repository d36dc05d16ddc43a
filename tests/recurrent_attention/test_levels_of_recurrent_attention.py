"""Every level of verification of recurrent_attention is green on another processor."""

from levels_elsewhere import *  # noqa: F403

STUDY = "recurrent_attention"
