"""Measure speed as ratios in one run and print a Markdown table: `make benchmark`.

What users type is compared with importing PyTorch once, in processor time, which other work on the
machine changes least. The literal loop (each sequence drawn by its own call, one-hot, autograd, one
process per core) is measured on a few runs of every panel of Figure 6 and multiplied up to its 640
runs; everything else is measured whole.
"""

import multiprocessing
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import click
import torch

from benchmarks.turns import time_call
from replication.bundle.computed import processor
from replication.plan.configuration import configure
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap.data.sequences import draw_sequences
from transformer_dynamics.scan_and_snap.settings.training import Mixture, Training, TrainJob
from transformer_dynamics.scan_and_snap.training.literal import literal_train
from transformer_dynamics.scan_and_snap.training.loop import train_sweep

ROOT = Path(__file__).parents[1]
EXPERIMENT = configure({}, find_studies()).scan_and_snap.train_job("syn_medium", "cpu")
SEEDS = 10
HOME = "scan_and_snap"
TARGETS = ("figures/fig6.pdf", "verify")
IMPORT = [sys.executable, "-c", "import torch"]
IMPORTS = 3
"""Number of imports, of which the median counts."""
Row = tuple[str, str, str]


class Spent(NamedTuple):
    """Time of a command."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of all its processes."""

    def __str__(self) -> str:
        """Return both times in words."""
        return f"{self.wall:.1f} s, {self.processor:.1f} s of processors"


def time_literal_run(task: tuple[Mixture, int, int]) -> float:
    """Return the seconds of one run of the literal loop."""
    mixture, cell, seed = task
    torch.set_num_threads(1)
    start = time.perf_counter()
    literal_train(mixture, EXPERIMENT.sampling, EXPERIMENT.training, cell, seed)
    return time.perf_counter() - start


def train_seed(task: tuple[str, int]) -> None:
    """Sample and train every cell of every panel for one seed."""
    stream, seed = task
    job = EXPERIMENT.model_copy(
        update={"sampling": EXPERIMENT.sampling.model_copy(update={"stream": stream})}
    )
    for mixture in job.mixtures.values():
        train_sweep(mixture, job, seed, draw_sequences(mixture, job.sampling, seed))


def start_processes(count: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes: a forked PyTorch can hang."""
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def memory_of_large_vocabulary() -> float:
    """Return the GiB of a process that trains M = 4,060 tokens, K = 300 classes, 16 cells."""
    mixture = Mixture(
        num_last=150,
        next_tokens_per_query=2,
        common_weights=[1.0] * 10,
        distinct_weights=[0.5] * 12,
    )
    sampling = EXPERIMENT.sampling.model_copy(update={"stream": "independent", "steps": 5})
    training = Training(**EXPERIMENT.training.model_dump())
    job = TrainJob(mixtures={"large": mixture}, sampling=sampling, training=training, device="cpu")
    train_sweep(mixture, job, 1, draw_sequences(mixture, sampling, 1))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def engine_rows(cores: int, repeats: int) -> Iterator[Row]:
    mixtures = list(EXPERIMENT.mixtures.values())
    cells = len(EXPERIMENT.training.cells)
    runs = len(mixtures) * cells * SEEDS
    with start_processes(cores) as pool:
        list(pool.map(train_seed, [("independent", seed) for seed in range(cores)]))  # warm up
        tasks = [(mixture, 0, seed) for mixture in mixtures for seed in range(repeats * cores)]
        seconds = list(pool.map(time_literal_run, tasks))
        literal = sum(seconds) / len(seconds) * runs / cores
        yield f"literal loop, {runs} runs ({len(tasks)} measured)", f"{literal:.0f} s", "1"
        for stream in ("independent", "authors"):
            tasks_of_stream = [(stream, seed) for seed in range(1, SEEDS + 1)]
            taken = time_call(lambda tasks=tasks_of_stream: list(pool.map(train_seed, tasks)))
            yield f"sample and train, {stream} stream", f"{taken:.1f} s", f"{literal / taken:.0f}"
        more = [("independent", seed) for seed in range(1, 3 * SEEDS + 1)]
        few = time_call(lambda: list(pool.map(train_seed, more[:3])))
        many = time_call(lambda: list(pool.map(train_seed, more)))
        yield "10 times the seeds (3 to 30)", f"{few:.1f} s to {many:.1f} s", f"{many / few:.1f}"
    with start_processes(1) as pool:
        memory = pool.submit(memory_of_large_vocabulary).result()
    yield "M = 4,060, K = 300, 16 cells: peak memory", f"{memory:.1f} GiB", ""


def copy_project(folder: Path) -> dict[str, str]:
    """Copy all files that Snakemake needs to run from nothing; return the environment for it."""
    for name in (
        "Snakefile", "workflow", "profiles", "config", "src", "requirements-encoders.lock",
        "results/reference",
    ):  # fmt: skip
        (folder / name).parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    # Python reads the copy before the installed project.
    return {**os.environ, "PYTHONPATH": str(folder / "src")}


def time_command(
    words: list[str], folder: Path, environment: Mapping[str, str] = os.environ
) -> Spent:
    """Return the time of a command in a folder.

    Raises:
        ClickException: if it fails.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        words, check=False, cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise click.ClickException(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Spent(seconds, user + system)


def workflow_rows(targets: Iterable[str]) -> Iterator[Row]:
    """Yield times of users' commands, from nothing and repeated, with ratios of processor time."""
    imports = [time_command(IMPORT, ROOT) for _ in range(IMPORTS)]
    one = sorted(imports, key=lambda each: each.processor)[IMPORTS // 2]
    yield "`import torch`, the unit of the ratios that follow", str(one), "1"

    def row(what: str, taken: Spent) -> Row:
        return what, str(taken), f"{taken.processor / one.processor:.1f}"

    for target in targets:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            environment = copy_project(folder)
            words = [sys.executable, "-m", "snakemake", *target.split()]
            first, again = (time_command(words, folder, environment) for _ in range(2))
            peaks = max(map(read_peak_memory, folder.glob("logs/**/*.benchmark.tsv")))
        command = f"snakemake {target}".rstrip()
        yield row(f"`{command}` from nothing, a job has up to {peaks:.0f} MiB", first)
        yield row("the same again", again)
    pages = [sys.executable, "-m", "replication", "report", "--reference"]
    with tempfile.TemporaryDirectory() as name:
        for what, names in (("the home paper", [HOME]), ("all studies", [])):
            taken = time_command([*pages, "--output", name, *names], ROOT)
            yield row(f"the page of {what} from the reference", taken)


def read_peak_memory(benchmark: Path) -> float:
    """Return the peak memory of a job, MiB."""
    return float(benchmark.read_text(encoding="utf-8").splitlines()[1].split("\t")[2])


def print_tables(head: str, *tables: Iterable[Row]) -> None:
    """Print tables as one, row by row, as each takes minutes."""
    click.echo(f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}{head}")
    click.echo("\n| what | measured | ratio |\n| --- | --- | --- |")
    for row in chain(*tables):
        click.echo(f"| {' | '.join(row)} |")


@click.command(help=__doc__)
@click.option("--repeats", default=2, help="Runs of the literal loop per panel and core.")
@click.option(
    "--sensitivity", is_flag=True, help="Every variant of what the paper leaves open, too."
)
def main(repeats: int, sensitivity: bool) -> None:
    """Print the table, row by row."""
    cores = os.cpu_count() or 1
    targets = [*TARGETS, *(["figures/sensitivity.pdf"] if sensitivity else [])]
    print_tables(
        f", torch {torch.__version__}", workflow_rows(targets), engine_rows(cores, repeats)
    )
