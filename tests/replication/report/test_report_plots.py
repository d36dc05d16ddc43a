"""Geometry of the evidence plots, and typesetting of numbers and formulas."""

# ruff: noqa: RUF001 - the page has real minus signs and primes

import pytest
from report_folder import CLAIMS

from replication.figures.typeset import number, typeset
from replication.judge.verdicts import Comparison
from replication.report.views import Axis

# Geometry and typesetting


@pytest.mark.parametrize("row", CLAIMS, ids=lambda row: row[0])
def test_evidence_stays_within_its_axis(row):
    comparisons = [Comparison.model_validate(item) for item in row[4]]
    if not comparisons:
        return
    axis = Axis.of(comparisons)
    assert 2 <= len(axis.ticks) <= 8
    assert (axis.ticks[0][0], axis.ticks[-1][0]) == (0, 100)
    for item in comparisons:
        values = (item.estimate, item.low, item.high, item.lower, item.upper)
        known = sorted(value for value in values if value is not None)
        places = [axis.place(value) for value in known]
        assert places == sorted(places)
        assert 0 <= places[0] <= places[-1] <= 100
    assert axis.is_logarithmic == (row[0] in {"T1", "E1"})


def test_evidence_of_one_value_without_bounds_has_an_axis():
    for estimate in (0.0, 5.0, -1e-3):
        axis = Axis.of([Comparison(cell="a", estimate=estimate, decision="open")])
        assert 0 < axis.place(estimate) < 100


def test_zero_stands_at_the_end_of_a_logarithmic_axis():
    items = [Comparison(cell="a", estimate=v, upper=1, decision="holds") for v in (0, 1e-9)]
    axis = Axis.of(items)
    assert axis.is_logarithmic
    assert axis.place(0) == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1.5, "1.5"), (1234.5, "1,230"), (999.9, "1,000"), (-0.0456, "−0.0456"),
        (1e-16, "10⁻¹⁶"), (-1.234e-5, "−1.23×10⁻⁵"), (2e10, "2×10¹⁰"), (-1e9, "−10⁹"),
        (0.1 + 0.2, "0.3"), (0.00012345, "0.000123"),
        (1.7976931348623157e308, "1.8×10³⁰⁸"), (-5e-324, "−4.94×10⁻³²⁴"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("1/eta_Y^-0.75", "1/η<sub>Y</sub><sup>−0.75</sup>"),
        ("t_0' and beta_nn' and E'_nn", "t<sub>0</sub>′ and β<sub>nn′</sub> and E′<sub>nn</sub>"),
        ("dB_n/dt >= 1e-3", "dB<sub>n</sub>/dt ≥ 0.001"),
        ("|zdot_ml| and dots", "|z\u0307<sub>ml</sub>| and dots"),
        ("(I+E)^{-1}, F^dagger", "(I+E)<sup>−1</sup>, F<sup>†</sup>"),
        ("sum_{k != n} beta_nk", "∑<sub>k ≠ n</sub> β<sub>nk</sub>"),
        ("sum_h sqrt3 |W^O_h|", "∑<sub>h</sub> √3 |W<sup>O</sup><sub>h</sub>|"),
        ("sqrt(1 +- D) + sqrt S, sqrt |x|", "√(1 ± D) + √S, √|x|"),
        ("the sum over i, a sqrt of it", "the sum over i, a sqrt of it"),
        ("E_pseudo, Proj_X(DX_i)", "E<sub>pseudo</sub>, Proj<sub>X</sub>(DX<sub>i</sub>)"),
        ("a_seeds and E_multi_weak", "a_seeds and E_multi_weak"),
        (
            "max_l f_n.f_n' <~ ||c||_1",
            "max<sub>l</sub> f<sub>n</sub>·f<sub>n′</sub> ≲ ||c||<sub>1</sub>",
        ),
        ("m' != m of 'a' set", "m′ ≠ m of 'a' set"),
        ("e^(2(z_ml(t) - z_ml(0)))", "e<sup>2(z<sub>ml</sub>(t) − z<sub>ml</sub>(0))</sup>"),
        ("seeds 1-10 of a -2 run", "seeds 1-10 of a −2 run"),
        ("in papers/a_b.csv and num_last", "in papers/a_b.csv and <code>num_last</code>"),
        ("a theorem's etalon", "a theorem's etalon"),
        ("ln(1.8e308)", "ln(1.8e308)"),  # beyond float64
        ("`<s>` of eta, `x_1^2`", "<code>&lt;s&gt;</code> of η, <code>x_1^2</code>"),
        ("a ` and eta", "a ` and η"),
    ],
)
def test_formulas_are_set(plain, html):
    assert typeset(plain) == html
