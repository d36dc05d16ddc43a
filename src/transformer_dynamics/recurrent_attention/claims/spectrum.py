"""Figure 2c: eigenvalues of a step with and without normalisation."""

import numpy as np
import pandas as pd

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Spectrum

SpectrumOf = Measured[MeasureJob[Spectrum]]


def without_over_with(normalised: SpectrumOf, unnormalised: SpectrumOf) -> pd.DataFrame:
    """Logarithm of a size of the cloud without normalisation over that with it.

    Sizes are max |Im lambda| and the spectral radius max |lambda|; without normalisation is once
    the same step of the same weights, and once a model that was trained so. Means are over boards.
    """
    with_it = _sizes(normalised.table[normalised.table["normalised"]])
    others = {
        "same weights": _sizes(normalised.table[~normalised.table["normalised"]]),
        "equal training": _sizes(unnormalised.table),
    }
    found = []
    for name, without in others.items():
        ratios = (without - with_it).groupby("seed").mean()
        for column in ratios:
            cell = {"cell": f"{name}, {column}", "seed": ratios.index, "value": ratios[column]}
            found.append(pd.DataFrame(cell))
    return pd.concat(found, ignore_index=True)


def _sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Logarithms of max |Im lambda| and max |lambda| by seed and board."""
    modulus = np.hypot(rows["re"], rows["im"])
    sizes = pd.DataFrame({"imaginary part": rows["im"].abs(), "radius": modulus})
    return sizes.groupby([rows["seed"], rows["board"]]).max().apply(np.log)
