"""The table and the drawing of verdicts under variants."""

from replication.frames import read_csv, write_csv
from replication.sensitivity import Sensitivity, draw, table
from replication.verification.judgement import Comparison, Verdict


def test_a_claim_that_could_not_be_measured_has_a_mark_and_no_number(tmp_path):
    cell = {"claim": "T1", "statement": "It falls.", "expected": "below 0", "as_baseline": False}
    cells = [cell | {"variant": "as published"}, cell | {"variant": "short"}]
    one = Comparison(cell="a", estimate=-0.5, decision="holds")
    verdicts = (
        Verdict(claim="T1", verdict="replicated", summary="", seeds=9, comparisons=[one]),
        Verdict.without_evidence("T1", "the training must record update 9"),
    )
    figure = Sensitivity(drawing="sensitivity")
    write_csv(tmp_path / "s.csv", table(figure, *verdicts, cells=cells))
    drawing = draw(figure, read_csv(tmp_path / "s.csv", figure.columns))
    assert [text.get_text() for text in drawing.axes[0].texts] == ["-0.5\n≈ 1/1", "-"]
