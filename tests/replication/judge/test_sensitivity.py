"""The table and the picture of verdicts under variants."""

from matplotlib.text import Text

from replication.base.tables import read_csv, write_csv
from replication.figures.style import WIDTH, set_style
from replication.judge.sensitivity import Sensitivity, draw, table
from replication.judge.verdicts import Comparison, Verdict


def test_a_claim_that_could_not_be_measured_has_a_mark_and_no_number(tmp_path):
    cell = {"claim": "T1", "statement": "It falls.", "expected": "below 0", "as_baseline": False}
    cells = [cell | {"variant": "as published"}, cell | {"variant": "short"}]
    one = Comparison(cell="a", estimate=-0.5, decision="holds")
    verdicts = (
        Verdict(claim="T1", verdict="replicated", summary="", seeds=9, comparisons=[one]),
        Verdict.without_evidence("T1", "the training must record update 9"),
    )
    figure = Sensitivity(kind="sensitivity")
    write_csv(tmp_path / "s.csv", table(figure, *verdicts, cells=cells))
    set_style()
    drawing = draw(figure, read_csv(tmp_path / "s.csv", figure.columns))
    shown = [text.get_text() for text in drawing.axes[0].texts]
    assert shown == ["T1  It falls. Expected: below 0.", "-0.5\n≈ 1/1", "-"]
    assert drawing.get_figwidth() == WIDTH
    assert min(text.get_fontsize() for text in drawing.findobj(Text)) >= 6.5


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
