"""What a result's last bits depend on besides settings, seeds and code."""

import platform
from pathlib import Path

from replication.digest import NUMERICAL_PACKAGES, installed_versions

CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, str]:
    """The processor, Python and the packages that compute numbers in this installation."""
    versions = installed_versions(tuple(sorted(NUMERICAL_PACKAGES - {"matplotlib", "seaborn"})))
    return {"processor": processor(), "python": platform.python_version(), **versions}


def processor() -> str:
    """The processor's name and model; those with the same one compute the same bits."""
    if not CPUINFO.is_file():
        return f"{platform.machine()} {platform.processor()}".strip()
    fields = (line.partition(":") for line in CPUINFO.read_text().splitlines())
    found: dict[str, str] = {}
    for key, _, value in fields:
        found.setdefault(key.strip(), value.strip())
    names = ("model name", "cpu family", "model", "stepping")
    parts = [found[name] for name in names if name in found]
    return " ".join([platform.machine(), *parts])
