"""The engine knows no paper: a new one is a folder, and nothing else is edited."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

from replication.study.studies import find_studies

ENGINE = (
    "src/replication", "workflow", "profiles", "engine", ".github",
    "Snakefile", "Makefile", "Dockerfile", ".dockerignore", "apptainer.def", "environment.yml",
)  # fmt: skip
WORDS = [
    r"Scan\W+and\W+Snap",
    r"wikitext",
    r"transformer_dynamics\.",
    # A study's name may be a word of the language; then it counts where it names a place.
    *(
        name if "_" in name else rf"\b(figures|results|logs)(/\w+)?/{name}\b"
        for name in find_studies()
    ),
]


def engine() -> Iterator[Path]:
    """All files of the engine."""
    for name in ENGINE:
        place = ROOT / name
        assert place.exists(), name
        found = place.rglob("*") if place.is_dir() else [place]
        built = {"build", "replication_engine.egg-info", "__pycache__"}
        yield from (path for path in found if path.is_file() and not built & {*path.parts})


def named(text: str) -> list[str]:
    """What names a paper in a text."""
    return [match[0] for word in WORDS for match in re.finditer(word, text, re.IGNORECASE)]


@pytest.mark.parametrize("path", sorted(engine()), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_of_the_engine_names_a_paper(path):
    assert named(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "from transformer_dynamics.example import study",
        "the claims of Scan and Snap",
        "results/reference/scan_and_snap",
        "snakemake figures/example/fig1.pdf",
        "results/reference_wikitext",
    ],
)
def test_names_are_found(text):
    assert named(text)


def test_planning_loads_no_library_that_computes():
    """They take seconds, and every command and every job of a cluster plans first."""
    program = (
        "import sys; from replication.study.studies import find_studies;"
        "from replication.plan.jobs import Jobs;"
        "from replication.plan.configuration import configure;"
        "Jobs.of(configure({}, find_studies()), find_studies()); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    slow = {"torch", "pandas", "scipy", "matplotlib", "seaborn", "pyarrow"}
    assert not slow & {*done.stdout.split()}
