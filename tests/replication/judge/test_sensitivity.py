"""The table and the picture of verdicts under variants."""

import numpy as np
import pytest
from matplotlib.text import Text

from replication.base.storage import read_csv, write_csv
from replication.figures.style import WIDTH, set_style
from replication.judge.sensitivity import Sensitivity, draw, table
from replication.judge.verdicts import Comparison, Verdict


def beside(axes):
    (counts,) = axes.child_axes
    return [label.get_text() for label in counts.get_yticklabels()]


def test_a_claim_that_could_not_be_measured_has_a_mark_and_no_number(tmp_path):
    cell = {"claim": "T1", "statement": "It falls.", "expected": "below 0", "as_baseline": False}
    cells = [cell | {"variant": name} for name in ("as published", "short", "constant")]
    one = Comparison(cell="a", estimate=-0.5, upper=-0.1, decision="holds")
    verdicts = (
        Verdict(claim="T1", verdict="replicated", summary="", seeds=9, comparisons=[one]),
        Verdict.without_evidence("T1", "the training must record update 9"),
        Verdict(claim="T1", verdict="not tested", summary="", seeds=9, comparisons=[one]),
    )
    figure = Sensitivity(kind="sensitivity")
    write_csv(tmp_path / "s.csv", table(figure, *verdicts, cells=cells))
    set_style()
    drawing = draw(figure, read_csv(tmp_path / "s.csv", figure.columns))
    [axes] = drawing.axes
    assert axes.get_title(loc="left") == "T1  It falls. Expected: below 0."
    assert beside(axes) == ["1/1", "-", "-"]
    dots = [line.get_xdata() for line in axes.lines if line.get_marker() in {"o", "*"}]
    assert np.concatenate(dots) == pytest.approx([-0.5, np.nan, -0.5], nan_ok=True)
    assert drawing.get_figwidth() == WIDTH
    assert min(text.get_fontsize() for text in drawing.findobj(Text)) >= 6


@pytest.mark.parametrize(("claims", "shape"), [(1, (1, 1)), (2, (1, 2)), (5, (2, 3)), (6, (2, 3))])
def test_claims_have_panels_of_equal_width_and_a_range_of_two_ends_is_the_shared_one(claims, shape):
    cells = [
        {"claim": f"T{n}", "statement": "It is 1.", "expected": "1", "as_baseline": same}
        | {"variant": variant}
        for n in range(claims)
        for variant, same in (("as published", False), ("short", True))
    ]
    found = [
        Comparison(cell="a", estimate=1.0, lower=0.5, upper=1.5, decision="holds"),
        Comparison(cell="b", estimate=1.2, lower=0.6, upper=1.4, decision="holds"),
    ]
    verdicts = [
        Verdict(claim=cell["claim"], verdict="replicated", summary="", seeds=9, comparisons=found)
        for cell in cells
    ]
    rows = table(Sensitivity(kind="sensitivity"), *verdicts, cells=cells)
    assert rows[["estimate", "lower", "upper"]].drop_duplicates().values.tolist() == [
        [1.1, 0.6, 1.4]
    ]
    set_style()
    drawing = draw(Sensitivity(kind="sensitivity"), rows)
    assert drawing.axes[0].get_gridspec().get_geometry() == shape
    assert beside(drawing.axes[0]) == ["2/2", "="]
    assert sum(axes.axison for axes in drawing.axes) == claims


def test_an_effect_that_a_variant_takes_away_is_told_from_one_that_never_was():
    cells, verdicts = [], []
    decisions = {"T1": ["holds", "none"], "T2": ["none", "none"]}
    for claim, found in decisions.items():
        for variant, decision in zip(("as published", "short"), found, strict=True):
            cell = {"claim": claim, "statement": "It falls.", "expected": "below 0"}
            cells.append(cell | {"variant": variant, "as_baseline": False})
            one = Comparison(cell="a", estimate=-0.5, decision=decision)
            verdict = "replicated" if decision == "holds" else "does not hold"
            verdicts.append(
                Verdict(claim=claim, verdict=verdict, summary="", seeds=9, comparisons=[one])
            )
    found = table(Sensitivity(kind="sensitivity"), *verdicts, cells=cells)
    assert found["outcome"].tolist() == [
        "replicated", "no effect left", "does not hold", "does not hold",
    ]  # fmt: skip
