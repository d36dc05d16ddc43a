"""Metrics of runs that never were: columns as in real ones, values of a plausible size.

Noise over seeds is drawn by name, so that a value does not depend on the others.
"""

from itertools import product
from random import Random
from types import SimpleNamespace

import numpy as np
import pandas as pd

from replication.study.contract import Measured
from transformer_dynamics.lp_ft.settings.metrics import TsneMetricJob

CLASSES = ("entailment", "contradiction", "neutral")
SETS = {"cb": 3, "trec6": 6, "cr": 2}
"""Classes by set."""
OTHERS = {"cr": ["sst2_sentences"]}
METHODS = ("lp", "ft", "lora", "lp_ft", "lp_lora")
SEEDS = range(1, 6)
SAMPLES = {"cb": 56, "trec6": 500, "cr": 1000, "sst2_sentences": 1821}
PROBE_NORM = {"cb": 7.3, "trec6": 16.0, "cr": 11.0}
MOVED = {"ft": 9.0, "lora": 6.0, "lp_ft": 3.0, "lp_lora": 2.2}
RIGHT = {"lp": 0.78, "ft": 0.86, "lora": 0.84, "lp_ft": 0.87, "lp_lora": 0.85}


def noise(*names):
    return Random(repr(names)).gauss(0, 1)


def measured(rows, name=None):
    """A metric, whose job says which set it is of, if it is of one."""
    runs = SimpleNamespace(texts=SimpleNamespace(name=name))
    job = SimpleNamespace(runs=runs, rank_tolerance=1e-3, long_probe=2.0)
    return Measured(pd.DataFrame(rows), job if name else None)


def of_run(texts, method, seed, **changes):
    is_lp = method == "lp"
    told = {"texts": texts, "method": method, "optimiser": "none" if is_lp else "adamw"}
    told |= {"clip": 0.0 if is_lp else 1.0, "rate": 0.0 if is_lp else 3e-5}
    told |= {"batch_size": 0 if is_lp else 16}
    return told | {"norm_of": "own", "factor": 1.0, "seed": seed} | changes


def runs(sets=tuple(SETS), methods=METHODS, seeds=SEEDS):
    return [of_run(*each) for each in product(sets, methods, seeds)]


def splits(run):
    return ["test", *OTHERS.get(run["texts"], [])]


def random_norm(run):
    return 0.02 * np.sqrt(384 * SETS[run["texts"]]) * (1 + 0.01 * noise("head", run["seed"]))


def start_norm(run):
    starts_probed = run["method"].startswith("lp_")
    norm = PROBE_NORM[run["texts"]] * (1 + 0.03 * noise("probe", run["texts"], run["seed"]))
    return run["factor"] * (norm if starts_probed else random_norm(run))


def features(given):
    rows = []
    for run in given:
        own, method = start_norm(run), run["method"]
        for split in splits(run):
            moved = MOVED.get(method, 0.0) * run["factor"] ** -0.2
            moved *= 1 + 0.05 * noise("moved", *run.values(), split)
            share = moved / 12
            end = PROBE_NORM[run["texts"]] if method == "lp" else own * (1 + 0.02 * share)
            rows.append(
                run
                | {
                    "split": split,
                    "samples": SAMPLES[run["texts"] if split == "test" else split],
                    "noise_floor": float("nan"),
                    "cosine_similarity": 0.3 - 0.2 * share,
                    "difference": moved,
                    "discriminant_ratio": 10 ** (1 + 2 * share),
                    "start_norm": own,
                    "norm": end,
                }
            )
    return measured(rows)


def accuracy(given):
    rows = []
    for run in given:
        for split in ("validation", *splits(run)):
            right = RIGHT[run["method"]] + 0.02 * noise("right", *run.values(), split)
            rows.append(
                run
                | {
                    "split": split,
                    "samples": SAMPLES.get(run["texts"] if split == "test" else split, 250),
                    "accuracy": right,
                    "matthews": 2 * right - 1,
                }
            )
    return measured(rows)


def calibration(given):
    rows = []
    for run in given:
        for split, is_scaled in product(splits(run), (False, True)):
            ece = (0.04 if is_scaled else 0.12) * (1 + 0.1 * noise("ece", *run.values(), split))
            mce = 3 * ece
            rows.append(
                run
                | {
                    "split": split,
                    "is_scaled": is_scaled,
                    "temperature": 1.7 if is_scaled else 1.0,
                    "ece": ece,
                    "mce": mce,
                    "mce_lower": 0.7 * mce,
                    "mce_upper": 1.4 * mce,
                    "bins": 12,
                    "mce_samples": 4,
                    "debiased_ece": 0.9 * ece,
                    "equal_mass_ece": 0.95 * ece,
                    "negative_log_likelihood": 0.5,
                }
            )
    return measured(rows)


KERNELS = ("ft", "lora", "lp_ft", "lp_lora")
SIZES = {"ft": 0.2, "lora": 6e-4, "lp_ft": 80.0, "lp_lora": 0.2}
"""Norms of F over that of P."""


def of_kernels(seeds=SEEDS):
    """Seed, method and kernel."""
    for seed in seeds:
        yield seed, "all", "P"
        for method in KERNELS:
            yield seed, method, "F"
            yield seed, method, "NTK"


def kernel_sizes(name):
    samples, classes = 100, SETS[name]
    rows = []
    for seed, method, kernel in of_kernels():
        size = SIZES.get(method, 0) * (kernel != "P") + (kernel != "F")
        own = classes - 1 if method.startswith("lp_") else classes
        cap = samples * (own if kernel == "F" else classes)
        rank = round(cap * (0.9 + 0.02 * noise("rank", name, seed, method, kernel)))
        rows.append(
            {
                "seed": seed,
                "method": method,
                "kernel": kernel,
                "rank_float64": cap,
                "rank_float32": min(rank, cap),
                "rank_coarse": rank // 3,
                "cap": cap,
                "frobenius": 5e3 * size * (1 + 0.05 * noise("norm", name, seed, method, kernel)),
                "diagonal": 100 * size,
                "off_diagonal": 60 * size,
            }
        )
    return measured(rows, name)


def kernel_regression(name):
    classes, rows = SETS[name], []
    for seed, method, kernel in of_kernels():
        for split in ("train", "test"):
            right = 0.8 + 0.1 * (split == "train") + 0.02 * noise("fit", seed, method, kernel)
            row = {"seed": seed, "method": method, "kernel": kernel, "strength": 1.0}
            row |= {"split": split, "logit": right, "floor": 1 - 1 / classes}
            rows.append(row | {"argmax": right - 0.05, "majority": 0.5})
    return measured(rows, name)


def ft_ratio(name):
    rows = []
    for seed, method in product(SEEDS, KERNELS):
        p, f = 40 * (1 + 0.1 * noise("p", name, seed)), 200 * SIZES[method]
        row = {"seed": seed, "method": method, "ft_ratio": f / (p + f)}
        rows.append(row | {"p_term": p, "f_term": f, "error": 0.5})
    return measured(rows, name)


def kernel_spectra(name):
    classes, tables = SETS[name], []
    for seed, method, kernel in of_kernels():
        index = np.arange(1, 100 * classes + 1)
        decay = {"all": 1.5, "ft": 1.0, "lora": 1.3}.get(method, 0.8)
        value = index**-decay * np.exp(0.1 * noise("spectrum", seed, method))
        value = value / value[0]
        if method.startswith("lp_") and kernel == "F":
            value[100 * (classes - 1) :] = 1e-17
        own = {"seed": seed, "method": method, "kernel": kernel}
        tables.append(pd.DataFrame(own | {"index": index, "value": value}))
    return measured(pd.concat(tables, ignore_index=True), name)


def kernel_blocks(name):
    labels = np.sort(np.arange(100) % SETS[name])
    i, j = np.indices((100, 100)).reshape(2, -1)
    tables = []
    for seed, method, kernel in of_kernels([1]):
        if kernel == "NTK":
            continue
        same = labels[i] == labels[j]
        random = np.random.default_rng(len(method)).uniform(0.8, 1.2, (100, 100))
        norms = (0.3 + 0.3 * same + 0.6 * (i == j)) * (random + random.T)[i, j]
        own = {"seed": seed, "method": method, "kernel": kernel, "i": i, "j": j}
        own |= {"class_i": labels[i], "class_j": labels[j], "trace_norm": norms}
        tables.append(pd.DataFrame(own))
    return measured(pd.concat(tables, ignore_index=True), name)


def head_control(name):
    rows = []
    for seed, direction, norm, samples in product(
        SEEDS, ("random", "probe"), ("random", "probe"), ("all", "subset")
    ):
        length = PROBE_NORM[name] if norm == "probe" else 0.8
        p = 2.5 if (direction, norm, samples) == ("probe", "probe", "all") else 80.0
        p *= 1 + 0.05 * noise("p", name, seed, direction, norm, samples)
        f = 60 * length**2
        rows.append(
            {
                "seed": seed,
                "direction": direction,
                "norm": norm,
                "samples": samples,
                "ft_ratio": f / (p + f),
                "head_norm": length,
                "p_term": p,
                "f_term": f,
                "logit_change": p + f,
                "feature_change": 50 * length,
                "error": 0.5,
            }
        )
    return measured(rows, name)


def norm(given):
    tables = []
    for run in given:
        is_lp = run["method"] == "lp"
        step = np.unique(np.geomspace(1, 3001, 50).round().astype(int)) - 1 if is_lp else None
        step = step if is_lp else np.arange(252)
        share = np.log1p(step) / np.log1p(step[-1])
        start = start_norm(run)
        gained = PROBE_NORM[run["texts"]] - start if is_lp else 0.02 * start
        random = np.random.default_rng(run["seed"]).normal(0, 0.1, len(step))
        accuracy = np.clip(0.4 + 0.5 * share + (0 if is_lp else random), 0, 1)
        values = {"step": step, "norm": start + gained * share, "loss": 1.5 - share}
        values |= {"bias_norm": 0.01 * share, "logit_norm": 1 + share}
        if not is_lp:
            accuracy[-1] = np.nan
        values |= {"accuracy": accuracy, "falling": 0.9 if is_lp else np.nan}
        tables.append(pd.DataFrame(run | values))
    return Measured(pd.concat(tables, ignore_index=True), None)


def validation(given):
    rows = []
    for run in given:
        best = 2
        for epoch in range(4):
            right = 0.7 + 0.05 * (epoch == best) + 0.01 * noise("valid", *run.values(), epoch)
            row = {"epoch": epoch + 1, "step": 63 * (epoch + 1), "accuracy": right}
            rows.append(run | row | {"is_kept": epoch == best})
    return measured(rows)


def tsne(given):
    rows = []
    for method in METHODS:
        for label in range(3):
            for k in range(18):
                x = 20 * np.cos(2 * label) + 6 * noise("x", method, label, k)
                y = 20 * np.sin(2 * label) + 6 * noise("y", method, label, k)
                rows.append((method, 1, "sample", label, CLASSES[label], x, y))
            x, y = 24 * np.cos(2 * label), 24 * np.sin(2 * label)
            rows.append((method, 1, "head", label, CLASSES[label], x, y))
    names = ["method", "seed", "kind", "label", "class_name", "x", "y"]
    job = TsneMetricJob(runs={}, sets=["cb"], texts="cb", perplexity=5)
    return Measured(pd.DataFrame(rows, columns=names), job)


MAKERS = {make.__name__: make for make in (features, accuracy, calibration, norm, validation, tsne)}
OF_START = {
    make.__name__: make
    for make in (
        kernel_sizes, kernel_regression, kernel_spectra, kernel_blocks, ft_ratio, head_control,
    )
}  # fmt: skip
FACTORS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0)
TRIED = {"ft": (1e-5, 3e-5, 1e-4), "lora": (3e-4, 1e-3, 3e-3)}
BOTH = ("ft", "lp_ft")


def scaled(name, factors, **changes):
    """Runs of heads that were multiplied."""
    return [
        of_run(name, method, seed, factor=factor, **changes)
        for method, seed, factor in product(BOTH, SEEDS, factors)
    ]


RUNS = {
    "main": runs(),
    "scale": scaled("trec6", FACTORS),
    "scale_ood": scaled("cr", FACTORS[::2]),
    "scale_sgd": [
        run
        for clip in (0.0, 1.0)
        for run in scaled("trec6", FACTORS[::2], clip=clip, optimiser="sgd", rate=1e-3)
    ],
    "equal_rate": [
        of_run("trec6", *each, rate=rate) for *each, rate in product(BOTH, SEEDS, TRIED["ft"])
    ],
    "tuning": [
        of_run(name, method, 101, rate=rate)
        for name, method in product(SETS, METHODS[1:])
        for rate in TRIED["lora" if "lora" in method else "ft"]
    ],
    "tuning_larger": [
        of_run("cr", *each, 101, rate=rate) for *each, rate in product(BOTH, TRIED["ft"])
    ],
    # On other sets than the defaults have there.
    "larger": runs(("cr", "trec6"), ("lp", *BOTH)),
    "head_length": [
        of_run(*each, norm_of=norm_of)
        for *each, norm_of in product(("trec6", "cr"), BOTH, SEEDS, ("random", "probe"))
    ],
}
"""Of the experiments of the defaults."""


def metric(experiment, name):
    """A metric of an experiment of the defaults."""
    if name in OF_START:
        return OF_START[name](experiment.rpartition("_")[2])
    return MAKERS[name](RUNS[experiment])
