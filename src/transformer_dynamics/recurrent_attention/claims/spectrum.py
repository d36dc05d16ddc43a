"""Figure 2c: eigenvalues of a step with and without normalisation."""

import numpy as np
import pandas as pd

from replication.study.contract import Measured
from replication.study.evidence import seed_rows
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum

SpectrumOf = Measured[MetricJob[Spectrum]]


def growth_without_normalisation(normalised: SpectrumOf, unnormalised: SpectrumOf) -> pd.DataFrame:
    """Return the logarithm of a size of the cloud without normalisation over that with it.

    Sizes are max |Im lambda| and the spectral radius max |lambda|; without normalisation is once
    the same step of the same weights, and once a model that was trained so. Means are over boards.
    """
    with_it = _cloud_sizes(normalised.table[normalised.table["normalised"]])
    others = {
        "same weights": _cloud_sizes(normalised.table[~normalised.table["normalised"]]),
        "equal training": _cloud_sizes(unnormalised.table),
    }
    ratios = {name: (without - with_it).groupby("seed").mean() for name, without in others.items()}
    return seed_rows(
        (f"{name}, {column}", table[column]) for name, table in ratios.items() for column in table
    )


def _cloud_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return logarithms of max |Im lambda| and max |lambda| by seed and board."""
    modulus = np.hypot(rows["re"], rows["im"])
    sizes = pd.DataFrame({"imaginary part": rows["im"].abs(), "radius": modulus})
    return sizes.groupby([rows["seed"], rows["board"]]).max().apply(np.log)
