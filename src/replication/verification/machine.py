"""What a result's last bits depend on besides settings, seeds and code."""

import os
import platform
from pathlib import Path

from replication.digest import installed_versions

NUMERICAL_PACKAGES = ("numpy", "pandas", "scipy", "torch")
"""What computes the numbers; what only draws is left out."""
CPUINFO = Path("/proc/cpuinfo")
INSTRUCTION_SETS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR")
"""What makes PyTorch and MKL compute as an older processor would."""


def machine() -> dict[str, str]:
    """The processor, Python and the packages that compute numbers in this installation."""
    versions = installed_versions(NUMERICAL_PACKAGES)
    return {"processor": processor(), "python": platform.python_version(), **versions}


def processor() -> str:
    """The processor's name and model; those with the same one compute the same bits.

    It may be told to compute as another one would, see `INSTRUCTION_SETS`.
    """
    emulated = [f"{name}={os.environ[name]}" for name in INSTRUCTION_SETS if name in os.environ]
    return " ".join([_processor(), *emulated])


def _processor() -> str:
    if not CPUINFO.is_file():
        return f"{platform.machine()} {platform.processor()}".strip()
    fields = (line.partition(":") for line in CPUINFO.read_text().splitlines())
    found: dict[str, str] = {}
    for key, _, value in fields:
        found.setdefault(key.strip(), value.strip())
    names = ("model name", "cpu family", "model", "stepping")
    parts = [found[name] for name in names if name in found]
    return " ".join([platform.machine(), *parts])
