"""Tables of kernels and FT ratios of a tiny encoder, against one another and by hand."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "encoders"))
from artificial_files import encoder

from replication.study.contract import Run
from transformer_dynamics.encoders import model as models
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.probe import probe
from transformer_dynamics.encoders.samples import samples
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.encoders.texts import SplitsOf
from transformer_dynamics.encoders.tokens import Places, Tokens
from transformer_dynamics.lp_ft.metrics.start import (
    adapters,
    fingerprint,
    ft_ratio,
    kernel_blocks,
    kernel_matrices,
    kernel_regression,
    kernel_sizes,
    kernel_spectra,
)
from transformer_dynamics.lp_ft.metrics.start import head_control as head_control_table
from transformer_dynamics.lp_ft.settings.metrics import (
    HeadMetricJob,
    RegressionMetricJob,
    SpectrumMetricJob,
)
from transformer_dynamics.lp_ft.settings.runs import Adapters
from transformer_dynamics.lp_ft.settings.start import HeadControlJob, KernelJob
from transformer_dynamics.lp_ft.theory import ft_ratio as theory
from transformer_dynamics.lp_ft.theory import lora
from transformer_dynamics.lp_ft.training import classifier, head_control, kernels, linear_step

N, M, C = 12, 6, 3
START = {
    "encoder": "minilm",
    "texts": TextChoice(name="cb", length=12),
    "head_deviation": 0.02,
    "strengths": [1.0],
    "tolerance": 1e-6,
    "samples": N,
    "device": "cpu",
}
JOB = SpectrumMetricJob(
    runs=KernelJob(test_samples=M, adapters=Adapters(rank=2, alpha=4), draws=3, **START),
    rank_tolerance=1e-3,
)


def made_texts():
    random = np.random.default_rng(0)
    lengths = random.integers(3, 9, size=N + M).astype(np.int32)
    tokens = random.integers(4, 11, size=(N + M, 8)).astype(np.int32)
    tokens[:, 0] = 2
    tokens[np.arange(8) >= lengths[:, None]] = 0
    labels = np.arange(N + M) % C
    return Tokens(tokens, lengths, np.minimum(lengths, 4).astype(np.int32), labels)


@pytest.fixture(scope="module")
def given():
    model = models.build(encoder()[0]).double()
    texts = made_texts()
    features = models.frozen_features(model, texts).double()
    found = probe(features[:N].numpy(), texts.labels[:N], C, 10.0, 1e-9)
    random = torch.Generator().manual_seed(4)
    drawn = Head(0.3 * torch.randn(C, 8, generator=random).double(), torch.zeros(C).double())
    heads = [drawn, Head(torch.from_numpy(found.weight), torch.from_numpy(found.bias))]
    return model, texts, features, heads


@pytest.fixture(scope="module")
def run(given):
    model, texts, features, heads = given
    drawn = classifier.draw_projections(model, JOB.runs.adapters, 3, 7)
    made = kernels.kernel_arrays(
        model, (texts, features.numpy(), N), heads, (drawn, JOB.runs.adapters.alpha, 10**5)
    )
    return Run("7", [7], {name: np.asarray(values)[None] for name, values in made.items()})


def test_products_give_the_terms_of_the_explicit_kernel(given, run):
    """Of FT from either head, on the kernel's own samples."""
    model, texts, features, heads = given
    own = texts.take(np.arange(N))
    table = ft_ratio.measure(JOB, [run], []).set_index("method")
    for method, head in zip(("ft", "lp_ft"), heads, strict=True):
        for size in (3, 50):
            step = linear_step.linear_step(model, own, features[:N], head, np.arange(N), size)
            row = table.loc[method]
            assert step.terms.ratio == pytest.approx(row.ft_ratio, rel=1e-9)
            assert float(step.terms.f.norm(dim=1).mean()) == pytest.approx(row.f_term, rel=1e-9)
            assert float(step.terms.p.norm(dim=1).mean()) == pytest.approx(row.p_term, rel=1e-7)
            assert float(step.errors.norm(dim=1).mean()) == pytest.approx(row.error, rel=1e-9)
    at = np.array([4, 0, 2])
    part = linear_step.linear_step(model, own, features[:N], heads[1], at, 2)
    for few, whole in zip((*part.terms, part.features), (*step.terms, step.features), strict=True):
        assert torch.allclose(few, whole[at], rtol=1e-9, atol=1e-12)
    expected = theory.optimal_p_term(heads[1], features[:N], 10.0)
    assert (step.terms.p - expected).abs().max() < 1e-6
    body = {name: tensor.detach() for name, tensor in model.named_parameters()}
    tokens, lengths, seconds = models.tensors(own)
    exact = theory.terms_by_products(
        models.feature_map(model, lengths, seconds), body, heads[1], tokens,
        torch.from_numpy(own.labels),
    )  # fmt: skip
    assert (step.terms.f - exact.f).abs().max() < 1e-10 * exact.f.abs().max()


def test_a_small_real_step_moves_features_as_told(given):
    model, texts, features, heads = given
    own = texts.take(np.arange(N))
    step = linear_step.linear_step(model, own, features[:N], heads[0], np.arange(N), 5)
    body = {n: t.detach().requires_grad_() for n, t in model.named_parameters()}
    tokens, lengths, seconds = models.tensors(own)
    phi = models.feature_map(model, lengths, seconds)
    loss = torch.nn.functional.cross_entropy(
        heads[0].logits(phi(body, tokens)), torch.from_numpy(own.labels), reduction="sum"
    )
    gradient = torch.autograd.grad(loss, list(body.values()))
    eta = 1e-7
    after = {n: t - eta * g for (n, t), g in zip(body.items(), gradient, strict=True)}
    moved = (phi(after, tokens) - features[:N]).detach() / eta
    assert (moved - step.features).abs().max() < 1e-4 * moved.abs().max()


def test_kernels_are_symmetric_and_positive(run):
    (start,) = kernel_matrices.read_kernels([run])
    assert [(k.method, k.name) for k in start.kernels][:3] == [
        ("all", "P"),
        ("ft", "F"),
        ("ft", "NTK"),
    ]
    assert len(start.kernels) == 9
    for kernel in start.kernels:
        matrix = kernel.train_matrix
        assert kernel.matrix.shape == ((N + M) * C, N * C)
        assert np.abs(matrix - matrix.T).max() <= 1e-12 * np.abs(matrix).max()
        assert np.linalg.eigvalsh(matrix)[0] > -1e-11 * np.abs(matrix).max()


def test_ranks_stay_below_their_caps(run):
    table = kernel_sizes.measure(JOB, [run], []).set_index(["method", "kernel"])
    ranks = table[["rank_coarse", "rank_float32", "rank_float64"]].to_numpy()
    assert (np.diff(ranks, axis=1) >= 0).all()
    assert (table.rank_float64 <= table.cap).all()
    # h = 8 < N; a probe has rank C - 1, and a random head C.
    # What a normalisation has centred spans one dimension less, so that 1 adds none.
    assert table.cap["all", "P"] == C * 9
    assert table.rank_float64["all", "P"] == C * 8
    assert table.cap["lp_ft", "F"] == N * (C - 1)
    assert table.cap["ft", "F"] == N * C
    assert table.rank_float64["lp_ft", "NTK"] >= table.rank_float64["lp_ft", "F"]
    (start,) = kernel_matrices.read_kernels([run])
    blocks = start.kernels[0].blocks[:N]
    assert table.frobenius["all", "P"] == pytest.approx(np.sqrt((blocks**2).sum()), rel=1e-12)
    assert table.diagonal["all", "P"] == pytest.approx(
        C * np.mean([blocks[i, i, 0, 0] for i in range(N)]), rel=1e-12
    )


def test_fewer_singular_values_count_with_a_larger_tolerance(run):
    fine, rough = (
        kernel_sizes.measure(JOB.model_copy(update={"rank_tolerance": share}), [run], [])
        for share in (1e-3, 0.5)
    )
    assert (rough.rank_coarse < fine.rank_coarse).any()
    rest = [name for name in fine if name != "rank_coarse"]
    assert rough[rest].equals(fine[rest])


def test_spectra_and_blocks(run):
    spectra = kernel_spectra.measure(JOB, [run], [])
    sizes = kernel_sizes.measure(JOB, [run], []).set_index(["method", "kernel"])
    for key, part in spectra.groupby(["method", "kernel"]):
        assert part["index"].tolist() == list(range(1, N * C + 1))
        assert part.value.iloc[0] == 1
        assert (part.value > JOB.rank_tolerance).sum() == sizes.rank_coarse[key]
    blocks = kernel_blocks.measure(JOB, [run], [])
    assert len(blocks) == 5 * N * N
    assert blocks[blocks.i == 0].class_i.eq(0).all()
    assert blocks.groupby("i").class_i.first().is_monotonic_increasing
    own = blocks[(blocks.method == "ft") & (blocks.i == blocks.j)]
    assert own.trace_norm.mean() == pytest.approx(sizes.diagonal["ft", "F"], rel=1e-12)


def test_adapters_beside_the_kernel(run):
    table = adapters.measure(JOB, [run], [])
    assert len(table) == 2 * 2 * 3
    (start,) = kernel_matrices.read_kernels([run])
    f = {k.method: torch.from_numpy(k.blocks[:N]) for k in start.kernels if k.name == "F"}
    first = table[(table.draw == 0) & (table.parameters == "all")].set_index("method")
    for adapted, full in (("lora", "ft"), ("lp_lora", "lp_ft")):
        row = first.loc[adapted]
        assert row.scalar == pytest.approx(lora.scalar_factor(f[adapted], f[full]), rel=1e-10)
        cosine = (f[adapted] * f[full]).sum() / (f[adapted].norm() * f[full].norm())
        assert row.cosine == pytest.approx(float(cosine), rel=1e-10)
        assert row.ratio == pytest.approx(float(f[adapted].norm() / f[full].norm()), rel=1e-10)
    assert table.expected.unique() == pytest.approx([4**2 / 2 / (3 * 8)])


def test_regression_of_kernels(run):
    job = RegressionMetricJob(runs=JOB.runs, strengths=[0.01, 100.0], folds=3)
    table = kernel_regression.measure(job, [run], [])
    assert len(table) == 9 * 2
    assert table.logit.between(0, 1).all()
    assert (table.floor == 1 - 1 / C).all()
    assert table[table.split == "train"].logit.max() > 1 - 1 / C


def test_fingerprints(run):
    table = fingerprint.measure(JOB, [run], [])
    assert table.seed.tolist() == [7]
    assert table.norm[0] == pytest.approx(np.linalg.norm(run.arrays["whole"]))


def data_of(found, texts):
    """As the programs of the data make them: all texts for training, then some for tests."""
    places = {"train": np.arange(N + M), "test": np.arange(M)}
    tokens = {"classes": np.array(["a", "b", "c"])}
    features, model = {}, models.build(found)
    for name, at in places.items():
        tokens |= texts.take(at).arrays(f"{name}_")
        tokens[f"{name}_digests"] = at + 1000 * (name == "test")
        features[f"{name}_features"] = models.frozen_features(model, texts.take(at)).numpy()
    split = {name: Places(at, tokens[f"{name}_digests"]) for name, at in places.items()}
    seen = samples(SplitsOf(split["train"], None, split["test"]), JOB.runs.texts, 1)
    drawn = {
        f"{name}_features": features["train_features"][part.indices][None]
        for name, part in seen._asdict().items()
        if name != "test"
    }
    return [tokens, features, drawn, found.arrays()]


def test_programs_make_what_tables_read():
    data = data_of(encoder()[0], made_texts())
    made = kernels.train(JOB.runs, [1], data, None)
    again = kernels.train(JOB.runs, [1], data, None)
    assert all(np.array_equal(made[name], again[name]) for name in made)
    job = HeadControlJob(**(START | {"samples": 5}))
    steps = head_control.train(job, [1], data, None)
    table = head_control_table.measure(
        HeadMetricJob(runs=job, long_probe=2), [Run("1", [1], steps)], []
    )
    assert len(table) == 8
    norms = table.groupby("norm").head_norm
    assert norms.max().to_numpy() == pytest.approx(norms.min().to_numpy(), rel=1e-12)
    exact = ft_ratio.measure(JOB, [Run("1", [1], made)], []).set_index("method")
    job = HeadControlJob(**START)
    steps = head_control.train(job, [1], data, None)
    table = head_control_table.measure(
        HeadMetricJob(runs=job, long_probe=2), [Run("1", [1], steps)], []
    )
    own = table[(table.direction == table.norm) & (table.samples == "subset")]
    ratios = own.set_index("direction").ft_ratio
    assert ratios["random"] == pytest.approx(exact.ft_ratio["ft"], rel=1e-3)
    assert ratios["probe"] == pytest.approx(exact.ft_ratio["lp_ft"], rel=1e-3)
