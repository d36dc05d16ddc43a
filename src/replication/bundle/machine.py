"""The machine: its processor and packages decide the last bits of a result."""

import platform
import re
from pathlib import Path

from replication.base.code_digest import installed_versions
from replication.base.process import arithmetic_variables

NUMERICAL_PACKAGES = ("numpy", "pandas", "scipy", "torch")
"""Packages that compute numbers; those that only draw are left out."""
CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, str]:
    """Return processor, version of Python, and versions of the packages that compute numbers."""
    versions = installed_versions(NUMERICAL_PACKAGES)
    return {"processor": processor(), "python": platform.python_version(), **versions}


def processor() -> str:
    """Return the processor's name and model: processors with the same text compute the same bits.

    Environment variables can have it compute as another one would, see `replication.base.process`.
    """
    return " ".join(
        [own_processor(), *(f"{name}={value}" for name, value in arithmetic_variables().items())]
    )


def own_processor() -> str:
    """Return the processor's name and model, without the processor that it emulates."""
    if not CPUINFO.is_file():
        return f"{platform.machine()} {platform.processor()}".strip()
    names = ("model name", "cpu family", "model", "stepping")
    lines = re.findall(r"^([^\t:]+)\s*: (.*)$", CPUINFO.read_text(encoding="utf-8"), re.MULTILINE)
    # The first processor stands for all.
    found = dict(reversed(lines))
    return " ".join([platform.machine(), *(found[name] for name in names if name in found)])


def system() -> str:
    """Return the operating system and its C library, without the kernel and the machine's name."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:  # not a Linux, or one that does not say which
        name = f"{platform.system()} {platform.mac_ver()[0]}".strip()
    return ", ".join([name, *filter(None, [" ".join(platform.libc_ver()).strip()])])


def gpu() -> str:
    """Return the GPU that PyTorch computes on, and the version of CUDA."""
    import torch  # takes a second, and few compute there

    if not torch.cuda.is_available():
        return "none here"
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
