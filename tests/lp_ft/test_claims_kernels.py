"""Claims on kernels: tables that say the opposite turn their verdicts."""

import math

import numpy as np
import pandas as pd
import pytest
from claim_tables import SEEDS, means, noise, of_set, said, verdict, without

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured

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
    assert verdict("L10a", *ratios(ft=0.99, lp_ft=0.4)) == "does not hold"
    assert verdict("L10a", *ratios(ft=0.7, lp_ft=0.8)) == "does not hold"
    with pytest.raises(UnmeasurableError, match="unknown value of method 'ft'"):
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
    assert verdict("L11a", *ranks(p=180, f=60)) == "does not hold"
    assert verdict("L11a", *ranks(p=180, f=90)) == "does not hold"
    for claim, column in (("L11b", "logit"), ("L11c", "argmax")):
        better = kernels({column: 0.7}, {column: 0.85}, split="test")
        assert verdict(claim, *better) == "replicated"
        assert verdict(claim, *kernels({column: 0.85}, {column: 0.7}, split="test")) == (
            "does not hold"
        )
        with pytest.raises(UnmeasurableError, match="unknown value of split 'test'; known"):
            verdict(claim, *kernels({column: 0.7}, {column: 0.8}, split="train"))


def test_diagonal():
    def sizes(p, f):
        return kernels({"diagonal": p, "off_diagonal": 1.0}, {"diagonal": f, "off_diagonal": 1.0})

    found = means("L19", *sizes(p=1.1, f=2.2))
    assert len(found) == 8
    assert found["CB: LP-FT"] == pytest.approx(math.log(2), abs=0.02)
    assert verdict("L19", *sizes(p=1.1, f=2.2)) == "replicated"
    assert verdict("L19", *sizes(p=2.2, f=1.1)) == "does not hold"
    assert verdict("L19", *sizes(p=1.1, f=1.1)) == "does not hold"


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
    assert [*means("B5d", *honest)] == names
    assert means("B5b", *honest) == {name: pytest.approx(1, abs=0.01) for name in names}
    assert verdict("B5d", *honest) == verdict("B5b", *honest) == "replicated"
    other = adapters(cosine=0.5, share=0.4)
    assert said("B5d", *other) == said("B5b", *other) == {"fails"}
    # Sines of .28 beside .87, .28 and .14: P is further from F, as far and nearer.
    for cosine, expected in ((0.5, "holds"), (0.96, "none"), (0.99, "fails")):
        assert [*means("L12a", *honest, *norms(cosine))] == names
        found = means("L12a", *honest, *norms(cosine))["CR: LoRA"]
        sines = [(1 - each**2) ** 0.5 for each in (cosine, 0.96)]
        assert found == pytest.approx(math.log(sines[0] / sines[1]), abs=0.15)
        if expected != "fails":
            assert said("L12a", *honest, *norms(cosine)) == {expected}
    assert said("L12a", *adapters(cosine=0.5, share=1.0), *norms(0.99)) == {"fails"}


def norms(cosine):
    """Norms of P, of F and of their sum, which say how alike P and F are."""
    rows = [{"method": "all", "kernel": "P", "values": {"frobenius": 4.0}}]
    rows += [{"method": m, "kernel": k, "values": {"frobenius": value}}
             for m in METHODS
             for k, value in (("F", 2.0), ("NTK", math.sqrt(20 + 16 * cosine)))]  # fmt: skip
    return [of_set(name, *rows, spread=0.0) for name in ("cb", "cr")]


def test_place_of_the_sum():
    def of(p, f, both):
        ranks = {("all", "P"): p, ("lp_ft", "F"): f, ("lp_ft", "NTK"): both}
        rows = [{"method": m, "kernel": k, "values": {"rank_coarse": value}}
                for (m, k), value in ranks.items()]  # fmt: skip
        return of_set("cr", *rows, spread=0.002)

    assert means("L11d", of(120, 60, 75))["CR"] == pytest.approx(0.75, abs=0.01)
    assert verdict("L11d", of(120, 60, 75)) == "replicated"
    # More than P, and less than F.
    assert said("L11d", of(120, 60, 130)) == said("L11d", of(120, 60, 50)) == {"fails"}
    same = of_set("cr", *({"method": m, "kernel": k, "values": {"rank_coarse": 60.0}}
                          for m, k in (("all", "P"), ("lp_ft", "F"), ("lp_ft", "NTK"))),
                  spread=0.0)  # fmt: skip
    assert verdict("L11d", same) == "not tested"


def spectra(bend, p=1.5):
    """Singular values that fall by a decade in ten; of adapters and P they are taken to a power."""
    tables = []
    for seed, shift in zip(SEEDS, noise("spectra"), strict=True):
        index = np.arange(1, 61)
        full = 10 ** (-(index - 1) / 10)
        for method in METHODS:
            power = bend + 0.01 * shift if "lora" in method else 1.0
            own = {"seed": seed, "method": method, "index": index}
            tables.append(pd.DataFrame(own | {"kernel": "F", "value": full**power}))
            tables.append(pd.DataFrame(own | {"kernel": "NTK", "value": 1.0}))
        own = {"seed": seed, "method": "all", "index": index}
        tables.append(pd.DataFrame(own | {"kernel": "P", "value": full ** (p + 0.01 * shift)}))
    job = of_set("cr", {"method": "ft", "values": {}}).job
    return Measured(pd.concat(tables), job)


def test_spectra():
    """Down to a thousandth of the largest, 31 values, |log10| of the ratio is 1.5 |1 - power|."""
    assert means("B5e", spectra(1.1)) == {
        "CR: LoRA": pytest.approx(0.15, rel=1e-6),
        "CR: LP-LoRA": pytest.approx(0.15, rel=1e-6),
    }
    assert verdict("B5e", spectra(1.1)) == "replicated"
    assert said("B5e", spectra(2.0)) == {"fails"}
    # Distances are in the ratio of what powers differ from 1 by: 5, 1 and 1/5.
    found = means("L12b", spectra(1.1))
    assert [*found] == ["CR: LoRA", "CR: LP-LoRA"]
    assert found["CR: LoRA"] == pytest.approx(math.log(5), abs=0.02)
    assert verdict("L12b", spectra(1.1)) == "replicated"
    assert said("L12b", spectra(1.5)) == {"none"}
    assert said("L12b", spectra(1.5, p=1.1)) == {"fails"}
    for claim in ("B5e", "L12b"):
        with pytest.raises(UnmeasurableError, match="no kernel of LoRA"):
            verdict(claim, without(spectra(1.1), method="lora"))
    # With another tolerance other values count: down to a tenth they are 11, and the mean is .05.
    rough = spectra(1.1)
    rough.job.rank_tolerance = 0.099
    assert means("B5e", rough)["CR: LoRA"] == pytest.approx(0.05, rel=1e-6)
    # What a figure does not draw has no say.
    table = spectra(1.1).table
    hidden = table["value"].where(table["index"] != 13, 0.5)
    assert means("L12b", Measured(table.assign(value=hidden), spectra(1.1).job)) == found
