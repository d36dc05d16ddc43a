"""Jobs at the paper's sizes run, and take no more memory than they ask for.

RoBERTa-base has random weights, and texts are made up, of as many tokens as the paper allows. There
are few samples and updates. What depends on the number of samples is compared at a second size,
where a network of the same width has two layers.
"""

import os
import shutil
import subprocess
import sys
from contextlib import chdir
from typing import NamedTuple

import pytest
import yaml
from paper_sizes import write_long_texts, write_roberta

from replication.plan.configuration import configure, merge
from replication.plan.jobs import Jobs
from replication.study.registry import read_registry
from replication.study.studies import find_studies
from replication.testing.small import Small
from transformer_dynamics.encoders import cost
from transformer_dynamics.lp_ft import needs

pytestmark = pytest.mark.thorough
STUDIES = {"lp_ft": find_studies()["lp_ft"]}
FOLDER = STUDIES["lp_ft"].folder
MEASURED = """
import sys
import time
from pathlib import Path

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmHWM:"))

"""
"""Beginning of a program that can tell the largest memory of its own process, in KiB.

What the system tells of a process that has ended includes the memory of the one that started it.
"""
JOB = f"""{MEASURED}
from replication.run.program import main
main(sys.argv[2:], standalone_mode=False)
Path(sys.argv[1]).write_text(f"{{peak()}} {{time.process_time()}}")
"""
PROBE = f"""{MEASURED}
import numpy as np
from transformer_dynamics.encoders.probe import select_by_folds
features = np.random.default_rng(0).normal(size=(int(sys.argv[2]), 768)).astype(np.float32)
select_by_folds(features, np.arange(len(features)) % 2, 2, [1e-4], 1e-6, 2)
Path(sys.argv[1]).write_text(f"{{peak()}} {{time.process_time()}}")
"""


class Ran(NamedTuple):
    """A job that has run in a process of its own."""

    name: str
    asked: int
    """Memory that it asks for, in MB."""
    measured: float
    """Memory that it took, in MB."""
    seconds: float
    """Time of the processor."""

    def __str__(self):
        return (
            f"{self.name:45} asked {self.asked:6} MB, took {self.measured:6.0f} MB,"
            f" {self.seconds:5.1f} s"
        )


@pytest.fixture
def folder(tmp_path):
    """A folder that does not stay: files of an encoder are large."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def run(program, folder, name, asked, arguments):
    told, log = folder / "told", folder / "log"
    # A path of the project may be relative.
    paths = os.pathsep.join(map(os.path.abspath, sys.path))
    with log.open("w") as stream:
        subprocess.run(
            [sys.executable, "-c", program, str(told), *arguments],
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths},
            stdout=stream,
            stderr=stream,
            check=False,
        )
    assert told.is_file(), log.read_text()[-2000:]
    kib, seconds = map(float, told.read_text().split())
    told.unlink()
    found = Ran(name, asked, kib * 1024 / 1e6, seconds)
    print(found, flush=True)
    return found


def planned(folder, monkeypatch, layers, sizes, changes):
    """The paper's scale with CoLA, and RTE for what is not trained.

    Args:
        folder: for files.
        monkeypatch: tells the plan the sizes.
        layers: of the encoder.
        sizes: training and test samples of both sets.
        changes: of the section.
    """
    for name, (train, test) in sizes.items():
        monkeypatch.setitem(cost.SETS, name, cost.SetSize(train, test, 2))
    size = cost.SIZES["roberta"]._replace(layers=layers)
    monkeypatch.setitem(cost.SIZES, "roberta", size)
    given = yaml.safe_load((FOLDER / "paper_scale.yaml").read_text())
    whole = configure(merge(given, {"computation": {"device": "cuda"}}), STUDIES).section("lp_ft")
    main = {"texts": dict.fromkeys(whole.experiments["main"].texts), "seeds": [1001]}
    main["texts"]["cola"] = {"epochs": None, "steps": 2}
    main["tsne"] = {"texts": "cola", "perplexity": 3}
    overlay = {
        "encoder": {"folder": write_roberta(folder / "roberta", layers)},
        "sets": {
            name: {"folder": write_long_texts(folder / name, name, *numbers, 128)}
            for name, numbers in sizes.items()
        },
        "probe": {"folds": 2},
        "seeds": [1001],
        "experiments": dict.fromkeys(whole.experiments) | {"main": main},
        "fresh_kernels": dict.fromkeys(whole.fresh_kernels),
        "kernels": {"texts": ["rte"], "regression": {"folds": 2}},
        "head_control": {"texts": ["rte"]},
        # Other experiments are not there.
        "claims": {claim.id: None for claim in read_registry(FOLDER / "registry.yaml").claims},
        "figures": dict.fromkeys(whole.figures),
    }
    changed = merge(given, {"lp_ft": merge(overlay, changes)})
    with chdir(folder):
        jobs = Jobs.of(configure(changed, STUDIES), STUDIES)
    return Small(STUDIES["lp_ft"], folder, changed, jobs)


def run_jobs(small, *without):
    """Run jobs of data, runs and metrics, except those whose name has one of some words."""
    for path, task in small.steps("data", "runs", "metrics"):
        name = path.removeprefix("results/lp_ft/").rpartition(".")[0]
        if not any(word in name for word in without):
            yield run(JOB, small.folder, name, task.memory, small.arguments(path))


def check(found):
    print(f"{sum(each.seconds for each in found):.0f} s of a core")
    assert [str(each) for each in found if each.measured > each.asked] == []


def test_every_kind_of_job_at_the_papers_sizes(folder, monkeypatch):
    """Twelve layers, whole tables, 128 tokens, batches of 8, 16 and 32."""
    sizes = {"cola": (36, 4), "rte": (6, 2)}
    few = {"kernels": {"samples": 2, "test_samples": 1}, "head_control": {"samples": 1}}
    small = planned(folder, monkeypatch, 12, sizes, few)
    tunings = [
        task.settings["tuning"]
        for path, task in small.steps("runs")
        if "/main/" in path and task.settings["tuning"]
    ]
    assert {each["schedule"]["batch_size"] for each in tunings} == {8, 16, 32}
    assert {task.settings["texts"]["length"] for _, task in small.steps("runs")} == {128}
    check(list(run_jobs(small)))


def test_samples_count_as_foreseen(folder, monkeypatch):
    """Two layers, so that there is time for more samples, and for a whole batch at the start."""
    sizes = {"cola": (6000, 4), "rte": (36, 4)}
    more = {"kernels": {"samples": 16, "test_samples": 4}, "head_control": {"samples": 4}}
    small = planned(folder, monkeypatch, 2, sizes, more)
    found = list(run_jobs(small, "main", "features-cola", "metrics"))
    split = needs.Split(12000, 0, 0, 2)
    asked = needs.Need.of(needs.probe_bytes(split, 768)).memory
    found.append(run(PROBE, folder, "a probe of 12,000 samples", asked, ["12000"]))
    check(found)
