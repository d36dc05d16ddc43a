"""Jobs of the paper's scale run at their true sizes, in the memory that they ask for.

Numbers of updates, of samples and of products with a Hessian are small, on which memory does not
depend. A Hessian takes too long for a batch of the released size; its memory is measured for two
small batches.
"""

import json
import shutil

import full_size
import pytest
import sizes_of_jobs
from sizes_of_jobs import PEAK, Row

from replication.plan.configuration import merge, read_yaml
from replication.study.studies import find_studies
from transformer_dynamics.gradient_heterogeneity.cost import (
    heads_needs,
    measured_needs,
    metric_memory,
)
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import MeasuredJob
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

pytestmark = sizes_of_jobs.MARKS
STUDY = find_studies()["gradient_heterogeneity"]
DATA = "results/gradient_heterogeneity/data"
RUNS = "results/gradient_heterogeneity/runs"
PAPER = read_yaml(STUDY.folder / "paper_scale.yaml")[STUDY.name]
FEW = {"steps": 1, "slice": 2, "points": 1}
MEASURED = {"batches": 1, "products": 1, "factors": [1.0]}
SHORT = merge(PAPER, {
    "experiments": {
        name: {"cases": {case: FEW for case, found in grid["cases"].items() if found}}
        for name, grid in PAPER["experiments"].items()
        if grid and "cases" in grid
    },
    "heterogeneity": {"measuring": MEASURED},
})  # fmt: skip
"""The paper's scale with few updates."""
GRAPH = f"""
import json, sys
from functools import partial
import numpy as np
import torch
from transformer_dynamics.gradient_heterogeneity.settings.measuring import MeasuredJob
from transformer_dynamics.gradient_heterogeneity.theory.curvature import Iteration, top_eigenvalue
from transformer_dynamics.gradient_heterogeneity.training.build import build_network
settings, name, sizes, *files = sys.argv[1:]
torch.set_num_threads(1)
job = MeasuredJob.model_validate(json.loads(settings))
data = [dict(np.load(file)) for file in files]
for arrays in data:
    del arrays["provenance"]
network = build_network(job.net, 1111, data)
for size in json.loads(sizes):
    batch = network.train.take(np.arange(size))
    _, gradients = network.gradients(network.start, batch)
    iterate = partial(top_eigenvalue, iteration=Iteration(most=1, vectors=1))
    network.curvature(network.start, batch, gradients, name, 1111, iterate)
    {PEAK.strip().replace(chr(10), chr(10) + "    ")}
"""
"""A product with the Hessian of one tensor, and the peak after each size of a batch."""
HEADS = f"""
import json, sys
import numpy as np
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.training import heads
job = HeadsJob.model_validate(json.loads(sys.argv[1]))
classes = np.array([f"class {{each}}" for each in range(150)])
tokens = {{"classes": classes, "train_labels": np.arange(15_000) % 150}}
features = {{"train_features": np.zeros((15_000, 768), np.float32) + 0.1}}
heads.train(job, [1, 2], [tokens, features], None)
{PEAK}"""
"""Heads on as many features as clinc150 has."""
CURVES = f"""
import json, sys
import numpy as np
from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics import curves
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob
CURVES = ("losses", "norms")
job, seeds = MetricJob.model_validate(json.loads(sys.argv[1])), json.loads(sys.argv[2])
runs = (
    Run(f"{{name}}-{{seed}}", [seed], dict.fromkeys(CURVES, np.ones((1, each.training.steps))))
    for name, each in job.runs.items()
    for seed in seeds
)
curves.measure(job, runs, []).to_parquet("curves.parquet")
{PEAK}"""
"""The largest table of metrics, with a row for each update."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("papers")


@pytest.fixture(scope="module")
def on_texts(folder):
    """RoBERTa's jobs: a set in which all of its words occur, and one with a single batch."""
    write = full_size.write_texts
    paper = merge(SHORT, {
        "encoder": {"folder": full_size.write_roberta(folder / "roberta")},
        "sets": {
            "cola": {"folder": write(folder / "cola", "cola", 400), "kept": 0.99},
            "sst2": {"folder": write(folder / "sst2", "sst2", 32)},
        },
        "seeds": [1111],
        "experiments": {"optimisers_again": {"cases": {"rte": {"network": {"texts": "cola"}}}}},
        "heads": {"tasks": {"c2": {"texts": "sst2"}}},
        "heterogeneity": {"cases": {"cola": {"tuning": FEW}}},
    })  # fmt: skip
    return sizes_of_jobs.plan(STUDY, folder / "texts", paper)


@pytest.fixture(scope="module")
def on_images(folder):
    """Jobs of both networks for images."""
    images = {"train": 32, "validation": 2, "test": 2}
    small = {"network": images, "tuning": FEW}
    with pytest.MonkeyPatch.context() as patch:
        vit = full_size.write_vit(folder / "vit", patch)
        fashion = full_size.write_images(folder / "images", patch)
    case = {"cases": {"fashion": {"network": images}}}
    paper = merge(SHORT, {
        "folders": {
            "fashion_mnist": fashion,
            "efficientnet_lite0": full_size.write_efficientnet(folder / "efficientnet"),
            "vit_s": vit,
        },
        "seeds": [1111],
        "experiments": {"optimisers_images": case, "optimisers_vision": case},
        "heterogeneity": {"cases": {"efficientnet": small, "vit_s": small}},
    })  # fmt: skip
    return sizes_of_jobs.plan(STUDY, folder / "on_images", paper)


@pytest.fixture(scope="module")
def measured_texts(folder, on_texts):
    """RoBERTa measured on one text of eight tokens, of a set in which all words occur."""
    texts = {"folder": full_size.write_texts(folder / "few", "cola", 8400, 6), "length": 8}
    cola = {"tuning": FEW | {"batch_size": 2}}
    given = merge(on_texts.changes[STUDY.name], {
        "sets": {"cola": texts},
        "heterogeneity": {"measuring": {"size": 1}, "cases": {"cola": cola}},
    })  # fmt: skip
    found = sizes_of_jobs.plan(STUDY, folder / "few_texts", given)
    _give(on_texts, found, "encoder")
    return found


@pytest.fixture(scope="module")
def measured_images(folder, on_images):
    """Both networks for images measured on one small image."""
    cases = {
        name: {"network": {"size": size}, "tuning": None}
        for name, size in (("efficientnet", 32), ("vit_s", 28))
    }
    given = merge(
        on_images.changes[STUDY.name], {"heterogeneity": {"measuring": {"size": 1}, "cases": cases}}
    )
    return sizes_of_jobs.plan(STUDY, folder / "few_images", given)


@pytest.fixture(scope="module")
def twins(folder):
    """The deepest twins that are measured, and the deepest that are trained."""
    few = FEW | {"batch_size": 32}
    paper = merge(SHORT, {
        "sets": {"trec6": {"folder": full_size.write_texts(folder / "trec6", "trec6", 300)}},
        "folders": {"wikitext2": full_size.write_running(folder / "running")},
        "pairs": {"seeds": [1], "cases": {
            "initial": {"measuring": MEASURED},
            "trained": {"measuring": MEASURED, "masked": few, "tunings": {"adam": few}},
        }},
    })  # fmt: skip
    return sizes_of_jobs.plan(STUDY, folder / "twins", paper)


def _give(given, taken, name: str) -> None:
    """Give data that one project has made to another."""
    path = f"{DATA}/{name}.npz"
    if not (given.folder / path).exists():
        sizes_of_jobs.measure(given, path)
    (taken.folder / path).parent.mkdir(parents=True)
    shutil.copy(given.folder / path, taken.folder / path)


@pytest.mark.parametrize(
    ("project", "path"),
    [
        ("on_texts", f"{DATA}/encoder.npz"),
        ("on_texts", f"{DATA}/tokens-cola.npz"),
        ("on_texts", f"{DATA}/features-sst2.npz"),
        ("on_texts", f"{RUNS}/optimisers_again/cola-adam-rate1e-05-linear-1111.npz"),
        ("on_texts", f"{RUNS}/optimisers_again/rte-sgd-rate0.01-linear-1111.npz"),
        ("on_texts", f"{RUNS}/optimisers_again/rte-signum-rate1e-06-linear-1111.npz"),
        ("measured_texts", f"{RUNS}/heterogeneity/cola-1111.npz"),
        ("on_images", f"{DATA}/fashion_mnist.npz"),
        ("on_images", f"{DATA}/vit_s.npz"),
        ("on_images", f"{DATA}/efficientnet.npz"),
        ("on_images", f"{RUNS}/optimisers_vision/fashion-adam-rate1e-05-constant-1111.npz"),
        ("on_images", f"{RUNS}/optimisers_images/fashion-adam-rate0.0001-constant-1111.npz"),
        ("measured_images", f"{RUNS}/heterogeneity/vit_s-1111.npz"),
        ("measured_images", f"{RUNS}/heterogeneity/efficientnet-1111.npz"),
        ("twins", f"{DATA}/words-trec6-4000-24.npz"),
        ("twins", f"{RUNS}/pairs/initial-post24-0.06-1.npz"),
        ("twins", f"{RUNS}/pairs/trained-post12-0.05-1.npz"),
    ],
)
def test_a_job_has_the_memory_that_it_asks_for(request, rows, project, path):
    found = sizes_of_jobs.measure(request.getfixturevalue(project), path)
    rows.append(found)
    assert found.measured < found.asked


@pytest.mark.parametrize(
    ("project", "case", "tensor", "sizes"),
    [
        ("on_texts", "cola", "body.embeddings.word_embeddings.weight", [2, 4]),
        ("on_images", "vit_s", "body.embeddings.patch_embeddings.projection.weight", [2, 4]),
        ("on_images", "efficientnet", "body.stem.convolution.weight", [4, 8]),
    ],
)
def test_curvature_takes_memory_in_proportion_to_the_batch(
    request, rows, project, case, tensor, sizes
):
    small = request.getfixturevalue(project)
    task = small.jobs.steps[f"{RUNS}/heterogeneity/{case}-1111.npz"]
    for path in task.reads:
        if not (small.folder / path).exists():
            sizes_of_jobs.measure(small, path)
    arguments = [json.dumps(task.settings), tensor, json.dumps(sizes), *task.reads]
    peaks, seconds = sizes_of_jobs.run(GRAPH, small.folder, arguments)
    job = MeasuredJob.model_validate(task.settings)
    asked = [_asked(job, size) for size in sizes]
    rows += [
        Row(f"curvature of {case}, batch of {size}", most, peak, seconds)
        for size, most, peak in zip(sizes, asked, peaks, strict=True)
    ]
    assert all(peak < most for peak, most in zip(peaks, asked, strict=True))
    assert peaks[1] - peaks[0] < asked[1] - asked[0]


def _asked(job: MeasuredJob, size: int) -> int:
    """What a job asks for that measures batches of some size, and does not train."""
    measuring = job.measuring.model_copy(update={"size": size})
    return measured_needs(job.model_copy(update={"measuring": measuring, "tuning": None})).memory


def test_heads_of_many_classes(rows, folder):
    job = (
        sizes_of_jobs.plan(STUDY, folder, PAPER, "cuda")
        .parts.experiments["heads"]
        .runs["c150-1-5"]
        .settings
    )
    assert isinstance(job, HeadsJob)
    few = job.model_copy(update={"steps": 2, "points": 2, "device": "cpu"})
    (peak,), seconds = sizes_of_jobs.run(HEADS, folder, [few.model_dump_json()])
    rows.append(Row("heads of clinc150", heads_needs(few, 2).memory, peak, seconds))
    assert peak < rows[-1].asked


def test_the_largest_table_of_metrics(rows, folder):
    job = (
        sizes_of_jobs.plan(STUDY, folder, PAPER, "cuda")
        .parts.experiments["optimisers_anew"]
        .metrics["curves"]
        .settings
    )
    assert isinstance(job, MetricJob)
    seeds = [1111, 2222, 3333, 4444, 5555]
    arguments = [job.model_dump_json(), json.dumps(seeds)]
    (peak,), seconds = sizes_of_jobs.run(CURVES, folder, arguments)
    rows.append(Row("curves of SST-2", metric_memory(job.runs.values(), 5), peak, seconds))
    assert peak < rows[-1].asked
