"""Claims on kernels: tables that say the opposite turn their verdicts."""

import math

import numpy as np
import pandas as pd
import pytest
from claim_tables import SEEDS, means, noise, of_set, verdict, without

from replication.errors import UnmeasurableError
from replication.study import Measured

METHODS = ("ft", "lora", "lp_ft", "lp_lora")


def ratios(**by_method):
    return [
        of_set(name, *({"method": m, "values": {"ft_ratio": v}} for m, v in by_method.items()))
        for name in ("cb", "cr")
    ]


def test_larger_ratio():
    honest = ratios(ft=0.4, lp_ft=0.99, lora=0.01, lp_lora=0.5)
    assert means("L10a", *honest) == {"CB": pytest.approx(0.59), "CR": pytest.approx(0.59)}
    assert verdict("L10a", *honest) == "replicated"
    assert verdict("L10a", *ratios(ft=0.99, lp_ft=0.4)) == "contradicted"
    assert verdict("L10a", *ratios(ft=0.7, lp_ft=0.8)) == "no effect"
    with pytest.raises(UnmeasurableError, match="there is no FT"):
        verdict("L10a", without(honest[0], method="ft"))


def kernels(p, f, **constant):
    """Columns of P and of F of every method."""
    rows = [{"method": "all", "kernel": "P", **constant, "values": p}]
    rows += [{"method": m, "kernel": k, **constant, "values": f}
             for m in METHODS for k in ("F", "NTK")]  # fmt: skip
    return [of_set(name, *rows) for name in ("cb", "cr")]


def ranks(p, f):
    return [
        Measured(each.table.assign(cap=lambda t: np.where(t["kernel"] == "P", 200, 100)), each.job)
        for each in kernels({"rank_coarse": p}, {"rank_coarse": f})
    ]


def test_rank_and_accuracy():
    assert means("L11a", *ranks(p=20, f=95))["CB"] == pytest.approx(0.85, abs=1e-9)
    assert verdict("L11a", *ranks(p=20, f=95)) == "replicated"
    # More of its rank and yet a lower one.
    assert verdict("L11a", *ranks(p=110, f=90)) == "replicated"
    assert verdict("L11a", *ranks(p=180, f=60)) == "contradicted"
    assert verdict("L11a", *ranks(p=180, f=90)) == "no effect"
    for claim, column in (("L11b", "logit"), ("L11c", "argmax")):
        better = kernels({column: 0.7}, {column: 0.85}, split="test")
        assert verdict(claim, *better) == "replicated"
        assert verdict(claim, *kernels({column: 0.85}, {column: 0.7}, split="test")) == (
            "contradicted"
        )
        with pytest.raises(UnmeasurableError, match="no kernel F of lp_ft"):
            verdict(claim, *kernels({column: 0.7}, {column: 0.8}, split="train"))


def test_diagonal():
    def sizes(p, f):
        return kernels({"diagonal": p, "off_diagonal": 1.0}, {"diagonal": f, "off_diagonal": 1.0})

    found = means("L19", *sizes(p=1.1, f=2.2))
    assert len(found) == 8
    assert found["CB: LP-FT"] == pytest.approx(math.log(2), abs=0.02)
    assert verdict("L19", *sizes(p=1.1, f=2.2)) == "replicated"
    assert verdict("L19", *sizes(p=2.2, f=1.1)) == "contradicted"
    assert verdict("L19", *sizes(p=1.1, f=1.1)) == "no effect"


def adapters(cosine, share):
    """Three draws of A; the scalar is a share of what is expected of the adapted matrices."""
    rows = [
        {"method": method, "draw": draw, "parameters": parameters,
         "values": {"cosine": cosine if parameters == "all" else 0.99,
                    "scalar": (0.007 * share if parameters == "adapted" else 0.001)
                    * (1 + 0.2 * (draw - 1))}}
        for method in ("lora", "lp_lora")
        for draw in range(3)
        for parameters in ("all", "adapted")
    ]  # fmt: skip
    return [
        Measured(each.table.assign(expected=0.007), each.job)
        for each in (of_set(name, *rows) for name in ("cb", "cr"))
    ]


def test_adapters():
    honest = adapters(cosine=0.96, share=1.0)
    names = [f"{name}: {method}" for name in ("CB", "CR") for method in ("LoRA", "LP-LoRA")]
    assert [*means("L12a", *honest)] == names
    assert means("B5b", *honest) == {name: pytest.approx(1, abs=0.01) for name in names}
    assert verdict("L12a", *honest) == verdict("B5b", *honest) == "replicated"
    other = adapters(cosine=0.5, share=0.4)
    assert verdict("L12a", *other) == verdict("B5b", *other) == "contradicted"


def spectra(bend):
    """Singular values that fall by a decade in ten; those of adapters are taken to a power."""
    tables = []
    for seed, shift in zip(SEEDS, noise("spectra"), strict=True):
        index = np.arange(1, 61)
        full = 10 ** (-(index - 1) / 10)
        for method in METHODS:
            power = bend + 0.01 * shift if "lora" in method else 1.0
            own = {"seed": seed, "method": method, "index": index}
            tables.append(pd.DataFrame(own | {"kernel": "F", "value": full**power}))
            tables.append(pd.DataFrame(own | {"kernel": "NTK", "value": 1.0}))
    job = of_set("cb", {"method": "ft", "values": {}}).job
    return Measured(pd.concat(tables), job)


def test_spectra():
    """Down to a thousandth of the largest, 31 values, |log10| of the ratio is 1.5 |1 - power|."""
    assert means("L12b", spectra(1.1)) == {
        "CB: LoRA": pytest.approx(0.15, rel=1e-6),
        "CB: LP-LoRA": pytest.approx(0.15, rel=1e-6),
    }
    assert verdict("L12b", spectra(1.1)) == "replicated"
    assert verdict("L12b", spectra(2.0)) == "contradicted"
    with pytest.raises(UnmeasurableError, match="no kernel of LoRA"):
        verdict("L12b", without(spectra(1.1), method="lora"))
