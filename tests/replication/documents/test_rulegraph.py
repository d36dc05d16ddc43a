"""The picture of the rules behind a file."""

from xml.etree import ElementTree as Xml

from conftest import JOBS

from replication.documents.rulegraph import rulegraph


def texts(path: str) -> list[str]:
    """What is written in the picture, from left to right."""
    drawing = Xml.fromstring(rulegraph(JOBS, path))
    return [str(item.text) for item in drawing.iter("{http://www.w3.org/2000/svg}text")]


def test_rules_stand_in_the_order_of_the_flow_with_their_programs_and_jobs():
    assert texts("figures/example/fig1") == [
        *("data", "data.py", "1 job"),
        *("runs", "training.py", "1 job"),
        *("metrics", "metrics.py", "1 job"),
        *("table", "figures/fig1.py", "1 job"),
        *("figure", "figures/fig1.py", "1 job"),
    ]


def test_a_verdict_has_what_it_is_judged_by_on_its_left():
    shown = texts("results/example/verdicts/C2.json")
    rules = ["data", "runs", "metrics", "evidence", "verdict"]
    assert [text for text in shown if text in rules] == rules
    assert "replication/judge/judgement.py" in shown
