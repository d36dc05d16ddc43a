"""Jobs of the paper's scale run at their true sizes, in the memory that they ask for.

The training text is as long as WikiText-2 and has as many words; the validation text is short, and
updates are few, on which memory does not depend. As many maps are recorded as there.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import sizes_of_jobs

from replication.plan.configuration import merge, read_yaml
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap_text import cost

pytestmark = sizes_of_jobs.MARKS
STUDY = find_studies()["scan_and_snap_text"]
RESULTS = "results/scan_and_snap_text"
PAPER = read_yaml(STUDY.folder / "paper_scale.yaml")[STUDY.name]
(WIKITEXT,) = cost.KNOWN.values()
VALID = 8_000
"""Words of the validation text, hardly more than those of the maps that are kept."""


def write(path: Path, number: int, random: np.random.Generator) -> dict[str, str]:
    """Write words about as frequent as in a language, each once at least if there is room."""
    share = 1 / (np.arange(WIKITEXT.words) + 3)
    every = np.arange(WIKITEXT.words)[:number]
    drawn = random.choice(WIKITEXT.words, number - len(every), p=share / share.sum())
    rows = np.array_split(np.concatenate([every, drawn]), max(number // 50, 1))
    path.write_text("\n".join(" ".join(f"w{word}" for word in row) for row in rows))
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("papers"), np.random.default_rng(0)
    train = write(folder / "train.txt", WIKITEXT.train, random)
    valid = write(folder / "valid.txt", VALID, random)
    few = {"updates": 16, "epochs": None}
    paper = merge(PAPER, {
        "corpora": {"wikitext2": {"folder": str(folder), "train": train, "valid": valid}},
        "experiments": {
            "wikitext_maps": {"seeds": [1], "training": few | {"recorded": [*range(17)]}},
            "wikitext_rates": {"training": few | {"recorded": [*range(10)]}},
        },
        "figures": {"fig7": {"seed": 1, "iterations": [0, 5, 10, 16]}},
    })  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(cost.KNOWN, train["sha256"], WIKITEXT)
        return sizes_of_jobs.plan(STUDY, folder, paper)


@pytest.mark.parametrize(
    "path",
    [
        "data/wikitext2.npz",
        "runs/wikitext_rates/wikitext2-one_layer-rate5-seed1.npz",
        "runs/wikitext_maps/wikitext2-one_layer-rate5-seed1.npz",
        "runs/wikitext_maps/wikitext2-three_layers-rate5-seed1.npz",
        "metrics/wikitext_maps/fingerprint.parquet",
        "metrics/wikitext_maps/maps.parquet",
        "metrics/wikitext_maps/validation.parquet",
        "metrics/wikitext_maps/dynamics.parquet",
    ],
)
def test_a_job_has_the_memory_that_it_asks_for(jobs, rows, path):
    found = sizes_of_jobs.measure(jobs, f"{RESULTS}/{path}")
    rows.append(found)
    assert found.measured < found.asked
