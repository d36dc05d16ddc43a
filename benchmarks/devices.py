"""`python -m benchmarks.devices`: studies on a GPU and on a processor, and a GPU's speed.

Every study that can train on a GPU is computed on both devices at its smallest scale. Dropout is
off, as each device draws its own. The speed is that of recurrent attention at the paper's scale.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike

from benchmarks.turns import relative_difference
from replication.base.errors import InputError
from replication.base.markdown import table
from replication.bundle.computed import gpu, processor
from replication.plan.configuration import Computation, configure, read_overlay
from replication.study.studies import find_studies
from replication.testing.small import Small
from transformer_dynamics.recurrent_attention.cost import training_need
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.training.loop import run_updates
from transformer_dynamics.recurrent_attention.training.state import initial_state

WITHOUT_DROPOUT: dict[str, dict[str, Any]] = {
    "scan_and_snap_text": {},
    "recurrent_attention": {},
    "lp_ft": {"training": {"dropout": 0.0}},
    "gradient_heterogeneity": {"networks": {"dropout": {"encoder": 0.0, "efficientnet": 0.0}}},
}
"""Studies that can train on a GPU, with the settings that switch their dropout off."""
STAGES = ("runs", "metrics", "evidence")
QUANTILES = (0.5, 0.9, 0.99)
CONDITIONS = ("itrsa", "akorn", "energy_multi", "symmetric", "itrsa_spectral")
WARM_UP, TIMED = 3, 12
"""Updates before the clock starts, and those that it times."""


class Speed(NamedTuple):
    """Speed of training one condition."""

    seconds: float
    """Seconds of an update."""
    rate: float
    """Floating-point operations a second."""
    memory: float
    """Largest memory that tensors had, in GiB."""


@click.command(help=__doc__)
@click.option("--study", "studies", multiple=True, type=click.Choice(list(WITHOUT_DROPOUT)))
def main(studies: tuple[str, ...]) -> None:
    """Print one table of differences and one of speed."""
    if not torch.cuda.is_available():
        raise click.ClickException("PyTorch finds no GPU here; run it where there is one")
    click.echo(f"{gpu()}; {processor()}, torch {torch.__version__}\n")
    header = ("study", "stage", "numbers", "half differ by at most", "90 %", "99 %")
    rows: list[list[str]] = []
    for study in studies or WITHOUT_DROPOUT:
        found = differences(study, "cpu", "cuda")
        for stage in STAGES:
            values = found[found.stage == stage].difference
            rows.append([study, stage, f"{len(values):,}"])
            rows[-1] += [f"{value:.0e}" for value in values.quantile(list(QUANTILES))]
    click.echo("\n".join(table(header, rows)) + "\n")
    header = ("condition", "seeds", "seconds of an update", "operations a second", "GiB")
    click.echo("\n".join(table(header, speed_rows())))


def differences(study: str, first: str, second: str) -> pd.DataFrame:
    """Compute a study on two devices and compare all that it writes.

    Returns:
        A row for each array of numbers and each column: `stage`, `file`, `name` and `difference`,
        the largest difference over the largest number.
    """
    with tempfile.TemporaryDirectory() as folder:
        one, other = (_compute(study, device, Path(folder, str(at)))
                      for at, device in enumerate((first, second)))  # fmt: skip
        rows = [
            (task.stage, path, name, difference_where_finite(values, there[name]))
            for path, task in one.steps(*STAGES)
            for there in [dict(_columns(other.folder / path))]
            for name, values in _columns(one.folder / path)
        ]
    return pd.DataFrame(rows, columns=["stage", "file", "name", "difference"])


def _compute(name: str, device: str, folder: Path) -> Small:
    overlay = {"computation": {"device": device}, name: WITHOUT_DROPOUT.get(name, {})}
    return Small.compute(find_studies()[name], folder, is_quick=True, overlay=overlay)


def _columns(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the name and the numbers of every array or column of a file."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            columns = {name: file[name] for name in file.files}
    else:
        columns = {name: values.to_numpy() for name, values in pd.read_parquet(path).items()}
    return ((name, values) for name, values in columns.items() if values.dtype.kind in "fiub")


def difference_where_finite(values: ArrayLike, others: ArrayLike) -> float:
    """Return the relative difference of the numbers that are finite in both.

    Numbers that are finite in one and not in the other differ by infinity.
    """
    first, second = (np.asarray(each, float) for each in (values, others))
    known = np.isfinite(first)
    if not np.array_equal(known, np.isfinite(second)):
        return np.inf
    return relative_difference(first[known], second[known])


def speed_rows() -> Iterator[tuple[str, ...]]:
    """Yield the speed of conditions of recurrent attention, with one seed and with five."""
    study = find_studies()["recurrent_attention"]
    overlay = read_overlay(study.folder / "paper_scale.yaml")
    merged = configure(overlay | {"computation": {"device": "cuda"}}, {study.name: study})
    experiments = study.experiments(merged.section(study.name), Computation(device="cuda"))
    for condition in CONDITIONS:
        job = next(iter(experiments[condition].runs.values())).settings
        assert isinstance(job, TrainJob)
        for seeds in ([1], [1, 2, 3, 4, 5]):
            speed = measure_speed(job, seeds)
            yield (condition, str(len(seeds)), f"{speed.seconds:.2f}", f"{speed.rate:.1e}",
                   f"{speed.memory:.0f}")  # fmt: skip


def measure_speed(job: TrainJob, seeds: list[int]) -> Speed:
    """Time some updates of a condition, on boards without rules, which cost the same."""
    random = np.random.default_rng(0)
    shape = (job.training.batch_size, job.boards.cells)
    boards = {
        "train_solutions": random.integers(1, job.boards.digits + 1, shape),
        "train_given": random.random(shape) < 0.5,
    }
    torch.cuda.reset_peak_memory_stats()
    updates = run_updates(job, seeds, boards, initial_state(job, seeds))
    for _ in range(WARM_UP):
        next(updates)
    torch.cuda.synchronize()
    begun = perf_counter()
    for _ in range(TIMED):
        next(updates)
    torch.cuda.synchronize()
    seconds = (perf_counter() - begun) / TIMED
    rate = training_need(job, len(seeds)).operations / job.updates / seconds
    return Speed(seconds, rate, torch.cuda.max_memory_allocated() / 2**30)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        raise SystemExit(f"Error: {error.message}") from None
