"""Norms of untrained attention against dense Jacobians, and the claims about them."""

from functools import partial

import literal_steps as literal
import numpy as np
import pandas as pd
import pytest
import torch
from registered import evidence

from replication.base.errors import InputError, UnmeasurableError
from replication.study.contract import Measured, Run
from transformer_dynamics.recurrent_attention.claims import token_norms as claims
from transformer_dynamics.recurrent_attention.figures import fig1
from transformer_dynamics.recurrent_attention.metrics.token_norms import measure
from transformer_dynamics.recurrent_attention.settings.token_norms import (
    TokenNormsJob,
    TokenNormsMetricJob,
)
from transformer_dynamics.recurrent_attention.theory.lanczos import largest_singular_value
from transformer_dynamics.recurrent_attention.training import token_norms

SMALL = {
    "dimension": 8, "heads": [1, 2], "initialisations": ["linear", "xavier"], "tokens": [3, 6],
    "radius": 4.0, "vocabulary": 20, "zipf": 1.0, "texts": 2, "tolerance": 1e-9,
}  # fmt: skip
READINGS = {
    "SA(X)": literal.msa,
    "SA(Norm(X))": lambda x, w, heads: literal.msa(literal.unit(x, 8), w, heads),
    "Norm(SA(X))": lambda x, w, heads: literal.unit(literal.msa(x, w, heads), 8),
    "Norm(X + SA(X))": lambda x, w, heads: literal.unit(x + literal.msa(x, w, heads), 8),
}


@pytest.fixture(scope="module")
def drawn():
    job = TokenNormsJob.parse(SMALL, "test")
    return job, token_norms.train(job, [3, 4], [], None)["norms"]


def table(job, norms, metric):
    runs = [Run("3-4", [3, 4], {"norms": norms})]
    return measure(TokenNormsMetricJob(runs=job, metric=metric), runs, [])


def test_norms_are_those_of_the_dense_jacobians(drawn):
    job, norms = drawn
    rows = table(job, norms, "norms")
    assert len(rows) == 2 * 4 * 2 * 2 * 2
    for row in rows.itertuples():
        texts = token_norms._draw_texts(job, row.seed)[:, : row.tokens]
        weights = token_norms._draw_weights(job, row.seed, row.initialisation)
        assert texts.norm(dim=-1).numpy() == pytest.approx(4)
        reading = partial(READINGS[row.reading], w=weights._asdict(), heads=row.heads)
        dense = [torch.linalg.svdvals(literal.dense(reading, text))[0] for text in texts]
        assert row.norm == pytest.approx(np.mean(dense), rel=1e-9)


def test_weights_and_texts_are_as_declared():
    job = TokenNormsJob.parse(
        SMALL | {"dimension": 64, "heads": [1], "tokens": [4000], "texts": 1}, "test"
    )
    for name, bound in (("linear", 1 / 8), ("xavier", 3**0.5 / 8)):
        for weight in token_norms._draw_weights(job, 1, name):
            assert 0.99 * bound < float(weight.abs().max()) <= bound
            assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.05)
    (text,) = token_norms._draw_texts(job, 1)
    _, counts = np.unique(text.numpy().round(9), axis=0, return_counts=True)
    expected = 1 / np.arange(1, 21)
    assert np.sort(counts)[::-1] / 4000 == pytest.approx(expected / expected.sum(), abs=0.02)


def test_a_draw_does_not_depend_on_its_batch(drawn):
    job, norms = drawn
    assert (token_norms.train(job, [4], [], None)["norms"][0] == norms[1]).all()
    fingerprint = table(job, norms, "fingerprint")
    assert fingerprint["digest"].is_unique
    assert fingerprint["seed"].tolist() == [3, 4]


def powers(slopes, factor=0.5):
    """Norms S^slope by reading; each reading's are `factor` of those of the one before at S = 1."""
    rows = [
        (seed, reading, "linear", 1, tokens, factor**place * seed * tokens ** slopes[reading])
        for seed in (1, 2)
        for place, reading in enumerate(READINGS)
        for tokens in (20, 45, 100)
    ]
    names = ["seed", "reading", "initialisation", "heads", "tokens", "norm"]
    return Measured(pd.DataFrame(rows, columns=names), None)


def test_slopes_of_powers_are_their_exponents():
    slopes = dict(zip(READINGS, (0.8, 0.0, 0.25, -0.3), strict=True))
    measures = (
        partial(evidence, "J7d"),
        partial(evidence, "J7b"),
        partial(evidence, "J7"),
        partial(evidence, "J7c"),
    )
    for slope, found in zip(slopes.values(), measures, strict=True):
        table = found(powers(slopes))
        assert table["cell"].tolist() == ["linear, H = 1"] * 2
        assert table["seed"].tolist() == [1, 2]
        assert table["value"].to_numpy() == pytest.approx(slope, abs=1e-12)


def test_texts_of_one_length_have_no_slope():
    whole = powers(dict.fromkeys(READINGS, 0.8))
    one = whole._replace(table=whole.table[whole.table["tokens"] == 20])
    with pytest.raises(UnmeasurableError, match="give two numbers of tokens"):
        evidence("J7d", one)


def test_reduction_is_the_mean_logarithm_of_the_ratio():
    found = claims.reduction(powers(dict.fromkeys(READINGS, 0.8))).groupby("cell")["value"]
    assert found.count().tolist() == [2, 2, 2]
    assert found.mean()["SA(Norm(X)), linear, H = 1"] == pytest.approx(np.log(0.5))
    assert found.mean()["Norm(X + SA(X)), linear, H = 1"] == pytest.approx(3 * np.log(0.5))


def test_figure_has_every_draw_and_the_geometric_means():
    measured = powers(dict.fromkeys(READINGS, 0.8))
    shown = fig1.table(fig1.Fig1(kind="fig1"), measured)
    assert list(shown.columns) == list(fig1.Fig1.columns)
    assert len(shown) == len(measured.table)
    ratio = shown["mean"] / shown["norm"]
    assert ratio[shown["draw"] == 1].to_numpy() == pytest.approx(2**0.5)


def test_lanczos_finds_the_largest_singular_value_or_says_so():
    random = torch.Generator().manual_seed(0)
    matrix = torch.randn(30, 30, generator=random, dtype=torch.float64)
    start = torch.ones(5, 6, dtype=torch.float64)

    def push(v):
        return matrix @ v.flatten()

    def pull(u):
        return (matrix.T @ u).reshape(5, 6)

    expected = float(torch.linalg.svdvals(matrix)[0])
    assert largest_singular_value(push, pull, start, 1e-10) == pytest.approx(expected, rel=1e-13)
    assert largest_singular_value(push, pull, start, 1e-3) == pytest.approx(expected, rel=1e-4)
    with pytest.raises(InputError, match="not found in 2 iterations"):
        largest_singular_value(push, pull, start, 1e-10, most=2)
    with pytest.raises(InputError, match="not finite"):
        largest_singular_value(lambda v: push(v) * torch.nan, pull, start)


def test_heads_must_divide_the_width():
    with pytest.raises(InputError, match="8 channels are not cut evenly by 3"):
        TokenNormsJob.parse(SMALL | {"heads": [3]}, "test")
