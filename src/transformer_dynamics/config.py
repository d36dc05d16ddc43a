"""The whole configuration: what is common to all papers, and one section per paper."""

from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from transformer_dynamics.scan_and_snap.config import ScanAndSnap
from transformer_dynamics.scan_and_snap.wikitext.config import WikitextSettings
from transformer_dynamics.storage import write_text
from transformer_dynamics.strict import Strict


class Computation(Strict):
    """Where and how jobs run."""

    device: Literal["cpu", "cuda"] = "cpu"
    """Device that trains. Numbers of different devices agree to rounding, not to the bit."""
    seeds_per_job: int = Field(default=1, ge=1)
    """Seeds that one job draws or trains, one after another; changes no number."""


class Configuration(Strict):
    """All settings of a run."""

    computation: Computation = Computation()
    """Common to all papers."""
    scan_and_snap: ScanAndSnap
    """What is computed for Scan and Snap."""
    wikitext: WikitextSettings
    """What is computed for its figures of training on real text."""

    def to_yaml(self) -> str:
        """The merged configuration as YAML."""
        return str(yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False))

    def write(self, path: Path) -> None:
        """Write the merged configuration as YAML, unless the file already says the same."""
        text = self.to_yaml()
        if not path.is_file() or path.read_text() != text:
            write_text(path, text)
