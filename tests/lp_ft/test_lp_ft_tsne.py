"""Planes of t-SNE against its definition, written out, and the metric that has them."""

import numpy as np
import pytest
from scipy.optimize import brentq
from small_runs import job, metric_data, trained

from replication.base.errors import InputError
from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs import tsne
from transformer_dynamics.lp_ft.settings.metrics import TsneMetricJob

METHODS = ("lp", "ft", "lp_lora")


def clusters(number=20, width=6):
    random = np.random.default_rng(0)
    labels = np.arange(3 * number) % 3
    return 6 * np.eye(3, width)[labels] + random.normal(size=(3 * number, width)), labels


def squared(points):
    return ((points[:, None] - points[None]) ** 2).sum(-1)


def neighbours(points, perplexity):
    """Symmetric p_ij; of each row, exp(entropy) is the perplexity."""
    d = squared(points)
    p = np.zeros_like(d)
    for i in range(len(p)):
        others = np.arange(len(p)) != i

        def row(log_beta, i=i, others=others):
            weights = np.exp(-np.exp(log_beta) * (d[i, others] - d[i, others].min()))
            return weights / weights.sum()

        def excess(log_beta, row=row):
            given = row(log_beta)
            return -(given * np.log(np.maximum(given, 1e-300))).sum() - np.log(perplexity)

        p[i, others] = row(brentq(excess, -30, 10, xtol=1e-12))
    return (p + p.T) / (2 * len(p))


def divergence(p, places):
    """KL(p, q), and the length of its gradient."""
    kernel = 1 / (1 + squared(places))
    np.fill_diagonal(kernel, 0)
    q = kernel / kernel.sum()
    off = ~np.eye(len(p), dtype=bool)
    loss = (p[off] * np.log(np.maximum(p[off], 1e-300) / q[off])).sum()
    pull = (p - q) * kernel
    gradient = 4 * (pull.sum(1)[:, None] * places - pull @ places)
    return loss, np.linalg.norm(gradient)


def test_a_plane_is_a_minimum_of_the_divergence():
    points, labels = clusters()
    places = tsne.embed_in_plane(points, 10.0)
    p = neighbours(points, 10.0)
    loss, gradient = divergence(p, places)
    axes = np.linalg.svd(points - points.mean(0), full_matrices=False)
    principal = axes[0][:, :2] * axes[1][:2]
    assert loss < divergence(p, principal)[0]
    # Of moving all points by as much as the plane is wide.
    assert gradient * places.std() < 0.05 * loss
    nearest = (squared(places) + 1e9 * np.eye(len(places))).argmin(1)
    assert np.mean(labels[nearest] == labels) > 0.9
    assert places.dtype == np.float64
    assert tsne.embed_in_plane(points, 10.0).tobytes() == places.tobytes()


def test_where_points_are_in_space_does_not_matter():
    """The divergence is that of distances; a turned cloud ends up in a minimum as deep."""
    points, _ = clusters()
    turned, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))
    p = neighbours(points, 10.0)
    depths = [
        divergence(p, tsne.embed_in_plane(given, 10.0))[0]
        for given in (points, 3.0 + points @ turned)
    ]
    assert depths[0] == pytest.approx(depths[1], rel=0.05)


def test_what_has_no_plane():
    points, _ = clusters(number=3)
    with pytest.raises(InputError, match="perplexity: 9 is not below the number of points, 9"):
        tsne.embed_in_plane(points, 9.0)
    assert np.isnan(tsne.embed_in_plane(points * np.nan, 4.0)).all()


@pytest.mark.numerical
def test_samples_and_rows_of_the_head_of_the_first_seed(tmp_path):
    made = {f"trec6-{method}": job(method) for method in METHODS}
    made["cr-lp"] = job("lp", "cr")
    plane = TsneMetricJob(runs=made, sets=["trec6", "cr"], texts="trec6", perplexity=8)
    runs = [
        Run(f"{name}-{seed}", [seed], trained(tmp_path, each, seed))
        for seed in (2, 1)
        for name, each in made.items()
    ]
    data = metric_data(tmp_path, plane, [1, 2])
    table = tsne.measure(plane, runs, data)
    assert {*table["seed"]} == {1}
    assert [*dict.fromkeys(table["method"])] == [*METHODS]
    labels, names = data[0]["test_labels"], data[0]["classes"]
    for method, own in table.groupby("method"):
        assert own["kind"].tolist() == ["sample"] * len(labels) + ["head"] * 6
        assert own["label"].tolist() == [*labels, *range(6)]
        assert own["class_name"].tolist() == names[own["label"]].tolist()
        run = next(each for each in runs if each.name == f"trec6-{method}-1")
        points = np.concatenate([run.arrays["test_features"][0], run.arrays["weight"][0]])
        places = tsne.embed_in_plane(points.astype(float), 8.0)
        assert own[["x", "y"]].to_numpy().tobytes() == places.tobytes()
