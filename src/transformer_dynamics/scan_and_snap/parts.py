"""The parts of this paper that are judged, locked and verified apart from each other."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_dynamics.config import Configuration
from transformer_dynamics.registry import Registry
from transformer_dynamics.scan_and_snap import locked
from transformer_dynamics.scan_and_snap.claims.plan import Plan
from transformer_dynamics.scan_and_snap.wikitext import locked as wikitext_locked
from transformer_dynamics.scan_and_snap.wikitext.plan import TextPlan
from transformer_dynamics.verification.lock import Expected, Lock


@dataclass(frozen=True)
class Part:
    """One part; paths are relative to the project's folder."""

    registry: Path
    """Its claims."""
    lock: Path
    """Folder of its lock."""
    overlay: Path | None
    """What the locked configuration changes in the default one."""
    rules: tuple[str, ...]
    """Rules that make figures' numbers and verdicts from metrics."""
    section: Callable[[Configuration], Any]
    """What of the configuration its results depend on."""
    plan: Callable[[Configuration, Registry], Any]
    """How its claims are judged."""
    found: Callable[[Any, Path, Path], Lock]
    """From a plan, a folder of results and the project's folder to what is computed."""
    expected: Callable[[Any], Expected]
    """From a plan to what a whole lock holds."""
    counts: tuple[str, ...]
    """Tables and claims that are compared like counts."""


PARTS = {
    "synthetic": Part(
        registry=Path("papers/scan_and_snap.yaml"),
        lock=Path("results/reference"),
        overlay=None,
        rules=("figure_table", "evidence", "verdict"),
        section=lambda whole: (whole.computation, whole.scan_and_snap),
        plan=lambda whole, registry: Plan.of(
            whole.scan_and_snap, registry, whole.computation.device
        ),
        found=locked.found,
        expected=locked.expected,
        counts=locked.COUNTS,
    ),
    "wikitext": Part(
        registry=Path("papers/scan_and_snap_wikitext.yaml"),
        lock=Path("results/reference_wikitext"),
        overlay=Path("config/wikitext_short.yaml"),
        rules=("text_figure_table", "text_evidence", "text_verdict"),
        section=lambda whole: (whole.computation.device, whole.wikitext.anywhere),
        plan=lambda whole, registry: TextPlan.of(
            whole.wikitext, registry, whole.computation.device
        ),
        found=wikitext_locked.found,
        expected=wikitext_locked.expected,
        counts=wikitext_locked.COUNTS,
    ),
}
"""The parts by name, the default one first."""
