"""The surroundings of a job: flags and variables with which its process starts.

A result depends on settings, seeds, code, packages and the processor. Everything else in a user's
shell, home or working folder is kept out of a job, or counts as another processor:

    import path   `FLAGS`: no module of the working folder, and none of the user's own packages; of
                  `PYTHONPATH` the folder of the project alone
    encoding      `FLAGS`: UTF-8 under any locale
    environment   `KEPT_OUT`: variables that change how Python and libraries start
    arithmetic    `ARITHMETIC`: variables that change the last digits stay, and are recorded;
                  Snakemake sets the number of threads, one for each job
    shell         `SHELL` and exported functions, which change what a command of the shell does
    style, fonts  Matplotlib's own, see `replication.figures.style.set_style`
"""

import os
import re
import resource
from collections.abc import Iterable, Mapping
from pathlib import Path

from replication.base.places import SOURCE

FLAGS = ("-P", "-s", "-X", "utf8")
"""Options of Python for every job."""
KEPT_OUT = (
    "FREETYPE_PROPERTIES", "MATPLOTLIBRC", "MPLBACKEND", "PANDAS_FUTURE",
    "PANDAS_FUTURE_INFER_STRING", "PYTHONDEVMODE", "PYTHONINSPECT", "PYTHONIOENCODING",
    "PYTHONOPTIMIZE", "PYTHONVERBOSE", "PYTHONWARNINGS", "SCIPY_ARRAY_API", "SOURCE_DATE_EPOCH",
)  # fmt: skip
"""Variables that change how Python and libraries start."""
SHELL = ("BASHOPTS", "BASH_ENV", "POSIXLY_CORRECT", "SHELLOPTS")
"""Variables that change how bash starts and reads commands."""
ARITHMETIC = (
    "ARROW_USER_SIMD_LEVEL", "ATEN_CPU_CAPABILITY", "BLIS_ARCH_TYPE", "CUBLAS_WORKSPACE_CONFIG",
    "DNNL_CPU_ISA_HINTS", "DNNL_DEFAULT_FPMATH_MODE", "DNNL_MAX_CPU_ISA", "GLIBC_TUNABLES",
    "MKL_CBWR", "MKL_DEBUG_CPU_TYPE", "MKL_ENABLE_INSTRUCTIONS", "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES", "NVIDIA_TF32_OVERRIDE", "ONEDNN_CPU_ISA_HINTS",
    "ONEDNN_DEFAULT_FPMATH_MODE", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)  # fmt: skip
"""Variables by which libraries choose instructions, precision or the order of sums."""
LACK_OF_MEMORY = re.compile(
    "signal KILL|failed to map segment|cannot allocate|can't start new thread"
    "|pthread_create failed|memory allocation still failed|memoryerror|bad_alloc",
    re.IGNORECASE,
)
"""Words in the log of a job that the system refused memory or threads, or ended for lack of it."""


def python_command(executable: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the words that start Python, by path or name, for a job of a user's environment."""
    changed = [word for name in KEPT_OUT if name in environment for word in ("-u", name)]
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    own = [place for place in places if place and Path(place).resolve() == SOURCE.resolve()]
    if own != places and "PYTHONPATH" in environment:
        changed += [f"PYTHONPATH={os.pathsep.join(own)}"]
    return [*(["env", *changed] if changed else []), executable, *FLAGS]


def shell_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of the variables that change how bash starts and reads commands."""
    return [name for name in environment if name in SHELL or name.startswith("BASH_FUNC_")]


def arithmetic_variables() -> dict[str, str]:
    """Return the variables that are set and make libraries compute as another processor would."""
    return {name: os.environ[name] for name in ARITHMETIC if os.environ.get(name)}


def memory_limit() -> str:
    """Return in words by how much memory this shell limits a process; nothing without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    return f"raise the limit of memory, which `ulimit -v` sets to {limit >> 20:,} MiB here, or "


def lack_of_memory(logs: Iterable[Path]) -> str:
    """Return which failed jobs probably lacked memory by their logs, and what to do; or nothing."""
    lacking = [
        str(path)
        for path in logs
        if path.is_file() and LACK_OF_MEMORY.search(path.read_text("utf-8", "replace"))
    ]
    if not lacking:
        return ""
    return (
        f"Memory or threads probably lacked, see {', '.join(lacking)}: {memory_limit()}run fewer"
        " jobs at once, as with `--cores 1`"
    )
