"""Jobs on boards of 9x9 run at the paper's width and loops, in the memory that they ask for.

Few updates, boards and samples are shorter lists of the same work: memory does not depend on them.
One seed is trained, and at two sizes of a batch, as it grows with both.
"""

from typing import Any

import pytest
import sizes_of_jobs
from study_settings import STUDY, overlay
from sudoku import SEVENTEEN, transformed, written

from replication.plan.configuration import merge

pytestmark = pytest.mark.thorough
RESULTS = "results/recurrent_attention"
MODELS = ("akorn", "itrsa", "itrsa_unnormalised")
FEW: dict[str, Any] = {
    "boards": {"train": 200, "valid": 20, "test": 20},
    "training": {"updates": 1, "average": None},
    "seeds": {"count": 1},
    "metrics": {
        "accuracy": {"loops": [1, 2], "draws": 1},
        "exponents": {"long": 3},
        "perturbed": {"etas": [1.0], "weights": [2.0], "inputs": [2.0], "loops": 2},
        "pseudo_energy": {"boards": 1, "eigenbases": 1, "share": 0.0002, "steps": 1},
        "trajectories": {"warm_up": 1, "steps": 3, "points": 2, "early": 1, "linear": 2},
        "votes": {"draws": 2, "boards": 20, "loops": 2},
        "distribution": {"steps": 2},
    },
    "more_boards": {f"drawn_{draw}": {"training": {"updates": 1}} for draw in range(1, 7)},
    "figures": {"exponent_accuracy": {"loops": 2}},
}


def planned(folder, changes):
    source = folder / "results/datasets/sudoku17/sudoku17.txt"
    source.parent.mkdir(parents=True)
    sha256 = written(source, transformed(SEVENTEEN, 60))
    few = merge(FEW, {"boards": {"list_sha256": sha256}})
    papers = merge(overlay("paper_scale.yaml")[STUDY.name], few)
    return sizes_of_jobs.plan(STUDY, folder, merge(papers, changes))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    return planned(tmp_path_factory.mktemp("nine"), {"training": {"batch_size": 4}})


@pytest.mark.parametrize(
    "path",
    [
        "data/boards.npz",
        *(f"runs/{model}/1.npz" for model in MODELS),
        "runs/energy_multi_hard/1.npz",
        "runs/akorn_spectral/1.npz",
        "metrics/akorn/accuracy.parquet",
        "metrics/akorn/exponents.parquet",
        "metrics/akorn/pseudo_energy.parquet",
        "metrics/akorn/votes.parquet",
        "metrics/akorn/trajectories.parquet",
        "metrics/itrsa/exponents.parquet",
        "metrics/itrsa/spectrum.parquet",
        "metrics/itrsa/distribution.parquet",
        "metrics/itrsa/perturbed.parquet",
        "metrics/itrsa/weights.parquet",
        "metrics/itrsa/fingerprint.parquet",
        "metrics/tuning/solved.parquet",
        "metrics/tuning/fingerprint.parquet",
    ],
)
def test_a_job_has_the_memory_that_it_asks_for(jobs, rows, path):
    found = sizes_of_jobs.measure(jobs, f"{RESULTS}/{path}")
    rows.append(found)
    assert found.measured < found.asked


@pytest.mark.parametrize("size", [20, 100])
def test_training_takes_as_much_as_its_batches(tmp_path, rows, size):
    few = planned(tmp_path, {"training": {"batch_size": size}})
    found = sizes_of_jobs.measure(few, f"{RESULTS}/runs/akorn/1.npz")
    rows.append(found)
    assert 0.5 * found.asked < found.measured < found.asked


@pytest.mark.parametrize("boards", [100, 1000])
def test_accuracy_takes_as_much_as_its_boards(tmp_path, rows, boards):
    few = planned(
        tmp_path, {"boards": {"test": boards}, "metrics": {"accuracy": {"loops": [1, 2]}}}
    )
    found = sizes_of_jobs.measure(few, f"{RESULTS}/metrics/akorn_untrained/accuracy.parquet")
    rows.append(found)
    assert found.measured < found.asked
