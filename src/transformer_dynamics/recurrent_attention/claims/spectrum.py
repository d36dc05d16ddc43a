"""Figure 2c: eigenvalues of a step with and without normalisation."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pandas as pd

from replication.study.contract import Measured
from replication.study.evidence import seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import in_pairs
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum

SpectrumOf = Measured[MetricJob[Spectrum]]


def growth_without_normalisation(*pairs: SpectrumOf) -> pd.DataFrame:
    """Return the logarithm of a size of the cloud without normalisation over that with it.

    Sizes are max |Im lambda| and the spectral radius max |lambda|; without normalisation is once
    the same step of the same weights, and once a model that was trained so. Means are over boards.

    Args:
        pairs: a condition with normalisation and one without, and others so.
    """
    found = (_growth(*pair) for pair in in_pairs(pairs))
    return seed_rows(chain.from_iterable(found))


def _growth(
    normalised: SpectrumOf, unnormalised: SpectrumOf
) -> Iterator[tuple[str, "pd.Series[float]"]]:
    with_it = _cloud_sizes(normalised.table[normalised.table["normalised"]])
    others = {
        "same weights": _cloud_sizes(normalised.table[~normalised.table["normalised"]]),
        "equal training": _cloud_sizes(unnormalised.table),
    }
    for name, without in others.items():
        ratio = (without - with_it).groupby("seed").mean()
        yield from ((f"{name}, {column}", ratio[column]) for column in ratio)


def _cloud_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return logarithms of max |Im lambda| and max |lambda| by seed and board."""
    modulus = np.hypot(rows["re"], rows["im"])
    sizes = pd.DataFrame({"imaginary part": rows["im"].abs(), "radius": modulus})
    return sizes.groupby([rows["seed"], rows["board"]]).max().apply(np.log)
