"""Every level of verification of scan_and_snap_text is green on another processor."""

from levels_elsewhere import *  # noqa: F403

STUDY = "scan_and_snap_text"
