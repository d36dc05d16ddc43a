"""`python -m benchmarks.recurrent_attention`: what an update of all seeds at once costs.

Against the same updates of one seed after the other, each as a process of its own would do them,
both measured by turns in one process on one thread; starting the processes is not counted.
"""

import time
from collections.abc import Iterator

import torch

from replication.configuration import configure
from replication.markdown import table
from replication.study import find_studies
from transformer_dynamics.recurrent_attention.boards.program import sample
from transformer_dynamics.recurrent_attention.train_settings import TrainJob
from transformer_dynamics.recurrent_attention.training import State, train

CONDITIONS = ("itrsa", "akorn")
UPDATES = 5
ROUNDS = 3


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    study = find_studies()["recurrent_attention"]
    configuration = configure({}, {study.name: study})
    experiments = study.experiments(configuration.section(study.name), configuration.computation)
    rows = []
    for condition in CONDITIONS:
        (run,) = experiments[condition].runs.values()
        job = TrainJob.parse(run.settings.model_dump(), condition)
        boards = sample(job.boards, [], [])
        together = train(job, list(run.seeds), boards)
        alone = [train(job, [seed], boards) for seed in run.seeds]
        rounds = [(_seconds([together]), _seconds(alone)) for _ in range(ROUNDS)]
        best = [min(seconds) for seconds in zip(*rounds, strict=True)]
        for name, seconds in zip(("all at once", "one after the other"), best, strict=True):
            ratio = f"{best[1] / seconds:.2f}"
            rows.append((condition, str(len(run.seeds)), name, f"{1e3 * seconds:.0f} ms", ratio))
    print("\n".join(table(("condition", "seeds", "trained", "an update of all", "ratio"), rows)))


def _seconds(runs: list[Iterator[State]]) -> float:
    """Of one update of every run, over several."""
    begin = time.perf_counter()
    for _ in range(UPDATES):
        for updates in runs:
            next(updates)
    return (time.perf_counter() - begin) / UPDATES


if __name__ == "__main__":
    main()
