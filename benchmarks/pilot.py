"""`python -m benchmarks.pilot`: one seed of ItrSA on boards of 6x6, which no claim judges.

The gate before the seeds that are judged: after the loops of training at least half of the
validation boards in distribution are solved, and after twice as many from a tenth to nine tenths of
those out of distribution, so that methods can be told apart. Where the gate is not passed, the
shares by number of givens, from few on, say which givens would. Test boards are not looked at.
"""

from collections.abc import Iterator

import click
import numpy as np
import pandas as pd
import torch

from benchmarks.recurrent_attention import jobs
from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.metrics.accuracy import logits_along_loops
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    Boards,
    initial_conditions,
    run_parameters,
    select_boards,
)
from transformer_dynamics.recurrent_attention.settings.boards import Givens
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.training.loop import run_updates
from transformer_dynamics.recurrent_attention.training.state import initial_state

CONDITION = "itrsa_6x6"
SEED = 100
"""Not judged, and that of the tuning on 4x4."""
SPLITS = ("valid_in", "valid_out")
FEWEST = 11
"""Least number of givens of validation boards, which are more than those of the default."""
VALID = 400
LEAST = 0.5
"""Share of boards in distribution that must be solved."""
BETWEEN = (0.1, 0.9)
"""Range of the share of boards out of distribution."""


def with_fewer_givens(job: TrainJob) -> TrainJob:
    """The job, with validation boards of all numbers of givens below those of training."""
    most = job.boards.in_distribution.least - 1
    wide = {"valid": VALID, "out_of_distribution": Givens(least=FEWEST, most=most)}
    return job.model_copy(update={"boards": job.boards.model_copy(update=wide)})


def train(job: TrainJob, boards: Boards, seed: int, said_every: int = 250) -> Run:
    """The trained parameters of one seed; the loss is printed now and then."""
    state = initial_state(job, [seed])
    for _ in run_updates(job, [seed], boards, state):
        done = len(state.losses)
        if done % said_every == 0:
            click.echo(f"update {done}: loss {np.mean(state.losses[-said_every:]):.3f}")
    arrays = {name: tensor.detach().numpy() for name, tensor in state.parameters.items()}
    return Run("pilot", [seed], arrays)


def solved(job: TrainJob, boards: Boards, run: Run) -> pd.DataFrame:
    """Whether each validation board is solved: split, givens, loops (over those of training)."""
    return pd.concat(_solved(job, boards, run), ignore_index=True)


def _solved(job: TrainJob, boards: Boards, run: Run) -> Iterator[pd.DataFrame]:
    parameters, loops = run_parameters(run), job.training.loops
    for split in SPLITS:
        shown = select_boards(boards, split)
        inputs, start = initial_conditions(job.model, parameters, shown, split)
        givens = (~shown.blank).sum(dim=-1).numpy()
        for done, logits in logits_along_loops(
            job.model, parameters, start, inputs, [loops, 2 * loops, 8 * loops]
        ):
            is_right = logits[0].argmax(dim=-1) + 1 == shown.solutions
            whole = (is_right | ~shown.blank).all(dim=-1).numpy()
            columns = {"split": split, "givens": givens, "loops": done // loops, "solved": whole}
            yield pd.DataFrame(columns)


def passes(found: pd.DataFrame, judged: Givens) -> bool:
    """Whether the gate is passed by boards with the givens that are judged out of distribution."""
    inside = found.query("split == 'valid_in' and loops == 1")["solved"].mean()
    beyond = found.query("split == 'valid_out' and loops == 2")
    share = beyond[beyond["givens"].between(judged.least, judged.most)]["solved"].mean()
    return bool(inside >= LEAST and BETWEEN[0] <= share <= BETWEEN[1])


@click.command(help=__doc__)
@click.option("--condition", default=CONDITION, show_default=True, help="Which is trained.")
@click.option("--seed", default=SEED, show_default=True, help="Must not be judged.")
def main(condition: str, seed: int) -> None:
    """Train, and print shares of solved boards."""
    torch.set_num_threads(1)
    try:
        ((_, job, judged),) = jobs([condition])
    except KeyError as error:
        raise click.UsageError(f"the default has no condition {condition}") from error
    if seed in judged:
        raise click.UsageError(f"seed {seed} is judged")
    wide = with_fewer_givens(job)
    boards = sample(wide.boards, [], [])
    found = solved(wide, boards, train(wide, boards, seed))
    for keys in (["split"], ["split", "givens"]):
        table = found.pivot_table("solved", keys, "loops", aggfunc="mean")
        click.echo(f"\n{table.rename(columns=lambda times: f'{times} x T').round(3)}")
    passed = passes(found, job.boards.out_of_distribution)
    click.echo(f"\nThe gate is {'passed' if passed else 'not passed'}.")


if __name__ == "__main__":
    main()
