"""A small registry with every verdict and every kind of test, and the page made of it."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import click
import yaml
from click.testing import CliRunner
from conftest import ROOT

from replication.base.storage import checksum, checksum_file, write_json
from replication.bundle.computed import read_finished
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs
from replication.report.page import render, write_page
from replication.report.site import Site
from replication.report.views import Shown
from replication.study.contract import StudySettings
from replication.study.registry import read_registry
from replication.study.studies import Study

HOSTILE = "\"><img src=x onerror=alert(1)><script>alert('eta_Y')</script>"
TESTS = {
    "bounds": {"kind": "bounds", "upper": 1e-10},
    "published": {"kind": "published", "tolerance": 5e-4},
    "interval": {"kind": "interval", "lower": -1.1, "upper": -0.9},
    "direction": {"kind": "interval", "upper": 0, "smallest_effect": 0.02},
    "equivalence": {"kind": "equivalence", "margin": 1.5},
}


def comparison(cell="K = 10, eta_Y 2", estimate=1.0, decision="holds", **values):
    return {"cell": cell, "estimate": estimate, "decision": decision, **values}


# Claim, test, figure, verdict and comparisons: every outcome, and every kind of comparison.
CLAIMS = [
    (
        "T1", "bounds", None, "verified",
        [comparison(f"M = {10**power}", 10.0**-power, upper=1e-10) for power in range(11, 16)],
    ),
    (
        "T2a", "published", "fig6", "reproduced",
        [comparison(f"K = {i}, eta_Z 1", 1e-5 * i, lower=-5e-4, upper=5e-4) for i in range(9, 39)],
    ),
    (
        "T2b", "interval", "fig6", "does not hold",
        [
            comparison("K = 2", -0.75, "fails", low=-0.8, high=-0.7, lower=-1.1, upper=-0.9,
                       effect=-3.2, p=1, p_against=1.2345e-5),
            comparison("K = 20", -1.0, "holds", low=-1.05, high=-0.95, lower=-1.1, upper=-0.9,
                       effect=9.1, p=0.001, p_against=1),
        ],
    ),
    (
        "T2c", "direction", "fig6", "open",
        [comparison("", -0.01, "open", low=-0.05, high=0.03, upper=0, p=0.4, p_against=0.7)],
    ),
    (
        "T3", "equivalence", "fig1", "replicated",
        [comparison("a", 0.002, low=-0.004, high=0.008, lower=-0.03, upper=0.03, p=0.01)],
    ),
    (
        "T4", "direction", "fig1", "in part",
        [comparison("one common token, a name that is far too long for its row, 7", -0.0125,
                    "none", low=-0.0151, high=-0.00983, upper=-0.02)],
    ),
    ("T5", None, "fig7", "not tested", []),
    ("E1", "bounds", "fig1", "does not hold", [comparison("K = 10", 0.7, "fails", upper=1e-10)]),
    ("B", "bounds", None, "does not hold", [comparison(HOSTILE, 3.0, "fails", lower=0, upper=1)]),
]  # fmt: skip


def claim(name, test, figure, *_):
    found = {
        "id": name,
        "kind": {"E": "erratum", "B": "finding"}.get(name[0], "claim"),
        "where": "Figure 7" if name == "T5" else "Theorem 2, Eqs. 3-4",
        "figure": figure,
        "statement": f"Statement {name} of eta_Y^-0.75 {HOSTILE if name == 'B' else ''}",
        "note": f"Note of {name}: w_n = 2.{' Printed out words' if name == 'T3' else ''}",
    }
    if test is None:
        return found | {"not_tested": "It needs data that are not public."}
    # One of the paper's theory: in its words, and computed of no run.
    if name == "T1":
        found["quote"] = {"words": "it vanishes", "place": "Theorem 2"}
    return found | {
        "quantity": "entropy in nats",
        "expected": "at most 1e-10",
        "published": "0.3",
        "evidence": "some.function",
        "data": [] if name == "T1" else [{"experiment": "syn_medium", "metric": "entropy"}],
        "test": TESTS[test],
        "why": "Rounding of float64.",
        "checked_by": ["test_report.test_same_bytes_twice"],
    }


REGISTRY = {
    "title": "A <b>Paper</b>",
    "authors": "A. Author",
    "venue": "Somewhere 2023",
    "claims": [claim(*row) for row in CLAIMS],
    "methods": [{"figures": ["fig6"], "text": "Momentum 0.9", "why": "From the log."}],
}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="99pt"><path d="M0 0h9"/></svg>'
TEXT = {"label": "L", "title": "Title", "drawn": "Two curves that fall.", "caption": "Of eta_Y."}


ORIGIN = {
    "commit": "abc1234-dirty", "configuration": "results/config.yaml", "digest": "unknown",
    "command": "snakemake report",
}  # fmt: skip


def made_up_settings(figures, texts=None):
    """A study's section: figures by name, as the settings that the page shows."""
    known = {
        name: SimpleNamespace(
            kind=told["kind"], picture=told.get("picture", "svg"), published=None,
            published_columns=(), sources=list,
        )
        for name, told in figures.items()
    }  # fmt: skip
    plain = {"figures": {name: {"kind": told["kind"]} for name, told in figures.items()}}
    return SimpleNamespace(
        figures=known, texts=texts or {}, claims={}, model_dump=lambda mode: plain
    )


@dataclass
class Folder:
    """What a page is made of."""

    path: Path

    def __post_init__(self):
        for name, test, _, verdict, comparisons in CLAIMS:
            if test:
                self.write_verdict(name, verdict, comparisons)
        titles = {"fig6": "What is only seen"}
        for name, label in {"fig1": "Figure 1", "fig6": "Figure 6"}.items():
            self.write_table(name, "x,y\n1,2\n3,4\n")
            self.texts[name] = TEXT | {"label": label, "title": titles.get(name, "Title")}
        self.file("fig1.svg").write_text(SVG)
        shutil.copy(ROOT / "docs/gallery/fig6.png", self.file("fig6.png"))
        not_drawn = {"fig7": TEXT | {"label": "Figure 7"}}
        registry = REGISTRY | {"figures": self.texts | not_drawn}
        (self.path / "registry.yaml").write_text(yaml.safe_dump(registry))
        (self.path / "README.md").touch()
        self.figures = {"fig1": {"kind": "fig1"}, "fig6": {"kind": "fig6", "picture": "png"}}
        self.own = {}

    texts = {}
    page = property(lambda self: self.path / "results/report/paper.html")

    def file(self, name):
        """The path of a verdict, of a picture or table, or of the registry."""
        if name.startswith("verdicts/"):
            return self.path / "results/paper" / name
        return self.path / ("." if name == "registry.yaml" else "figures/paper") / name

    def write_table(self, name, text):
        """Write the table of a figure, as a job does."""
        table = self.file(f"{name}.csv")
        kept = self.path / checksum_file(Path(f"figures/paper/{name}.csv"))
        for path in (table, kept):
            path.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(text)
        kept.write_text(checksum(table))

    def copy_figure(self, name, other):
        """Write the files of a figure under another name, too."""
        self.write_table(other, self.file(f"{name}.csv").read_text())
        kind = self.figures[name].get("picture", "svg")
        shutil.copy(self.file(f"{name}.{kind}"), self.file(f"{other}.{kind}"))

    def write_verdict(self, name, verdict, comparisons):
        record = {
            "claim": name, "verdict": verdict, "summary": f"Sum of {name} is -1e-12", "seeds": 10,
            "comparisons": comparisons,
        }  # fmt: skip
        path = self.file(f"verdicts/{name}.json")
        write_json(path, Verdict.parse(record, name).model_dump(mode="json"), {})

    def shown(self):
        """The study and its results, read anew."""
        # A test may change this registry; those of the real studies stay as they were read.
        registry = read_registry.__wrapped__(self.path / "registry.yaml")
        added = StudySettings.parse(self.own, "own")
        module = SimpleNamespace(__name__="paper.study", __file__=str(self.path / "study.py"))
        settings = made_up_settings(self.figures, added.texts)
        registry = registry.with_own(added.claims)
        study = StudyJobs(Study("paper", module), settings, {}, {}, registry)
        return Shown(study, read_finished(study, self.path), self.path)

    def build(self, **origin):
        @click.command()
        def command():
            shown = self.shown()
            html = render(shown, "", Site(["paper"]), ORIGIN | origin, self.path)
            write_page(self.page, shown, html, 16 * "0")

        return CliRunner().invoke(command)

    def html(self, **origin):
        result = self.build(**origin)
        assert result.exit_code == 0, result.output
        return self.page.read_text()
