"""Claims and texts of a user's own: they stand beside the study's, and change nothing of it."""

from dataclasses import replace
from functools import wraps

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from report_folder import TEXT, Folder, comparison

from replication.base.errors import InputError
from replication.base.storage import write_json, write_table
from replication.bundle.bundle import EVIDENCE, FINGERPRINTS, Bundle
from replication.bundle.computed import settings_digests
from replication.judge import scorecard
from replication.judge.verdicts import Verdict
from replication.plan.configuration import configure, merge
from replication.plan.jobs import Jobs
from replication.plan.steps import Input, StepsFile, provenance
from replication.run import program as run
from replication.run.stages import make_output
from replication.study.claims import OWN
from replication.study.studies import find_studies
from replication.verify.command import _without_additions
from transformer_dynamics.example.claims import learning

STUDY = "example"
OWN_CLAIM = {
    "figure": "slow", "statement": "It takes twice as long.", "quantity": "Ratio of half-lives",
    "expected": "above 1.6", "evidence": "learning.over_twice_the_variance",
    "data": [{"experiment": "slow", "metric": "half_life"}],
    "test": {"kind": "interval", "lower": 1.6, "smallest_effect": 0.1}, "why": "It is ours.",
}  # fmt: skip
SLOW = yaml.safe_load("""
experiments:
  slow:
    seeds: {first: 1, count: 10}
    training:
      problem: {variances: [1, 0.5], samples: 9, noise: 0}
      learning_rate: 0.1
      updates: 50
figures:
  slow: {kind: fig1, experiment: slow}
""")
VERDICT, EVIDENCE_OF = (
    f"results/{STUDY}/{kind}" for kind in ("verdicts/{}.json", "evidence/{}.parquet")
)


def jobs(*changes: dict) -> Jobs:
    studies = {STUDY: find_studies()[STUDY]}
    overlay = {}
    for change in changes:
        overlay = merge(overlay, change)
    return Jobs.of(configure({STUDY: overlay}, studies), studies)


def with_claims(**claims: dict) -> Jobs:
    return jobs(SLOW, {"claims": claims})


SCORECARD = "results/example/verdicts.md"


def orders(found: Jobs) -> dict[str, object]:
    """Steps by path, except that of the scorecard, which shows all claims."""
    return {path: found.ready(path) for path in found.steps if path != SCORECARD}


def batch(found: Jobs, path: str) -> list[str]:
    """What is made by the same job."""
    (paths,) = (paths for paths in found.batches.values() if path in paths)
    return paths


@pytest.mark.parametrize("figure", ["slow", "fig2", None])
def test_it_is_made_by_jobs_of_its_own_and_changes_no_other(figure):
    without, found = jobs(SLOW), with_claims(U1=OWN_CLAIM | {"figure": figure})
    own = [EVIDENCE_OF.format("U1"), VERDICT.format("U1")]
    assert orders(found) == orders(without) | {path: found.ready(path) for path in own}
    assert all(batch(found, path) == [path] for path in own)
    before = settings_digests(without, STUDY)
    after = settings_digests(found, STUDY)
    assert after.keys() - before.keys() == {"claim U1", "test U1"}
    assert {name: after[name] for name in before} == before


def test_another_test_judges_it_again_and_nothing_else():
    found = with_claims(U1=OWN_CLAIM)
    other = with_claims(U1=OWN_CLAIM | {"test": OWN_CLAIM["test"] | {"lower": 1.7}})
    before, after = orders(found), orders(other)
    assert [path for path in before if before[path] != after[path]] == [VERDICT.format("U1")]
    before, after = settings_digests(found, STUDY), settings_digests(other, STUDY)
    assert {name for name in before if before[name] != after[name]} == {"test U1"}


def test_those_of_one_figure_are_corrected_together_but_not_with_the_studys():
    on_fig2 = OWN_CLAIM | {"figure": "fig2"}
    found = with_claims(U1=on_fig2, U2=on_fig2, U3=OWN_CLAIM).studies[STUDY]
    families = [found.family(claim) for claim in ("C2", "U1", "U3")]
    assert families == [["C2", "C3"], ["U1", "U2"], ["U3"]]


def test_overlays_add_to_one_another():
    found = jobs(SLOW, {"claims": {"U1": OWN_CLAIM}}, {"claims": {"U2": OWN_CLAIM}})
    claims = found.studies[STUDY].registry.claims
    assert [claim.id for claim in claims][-2:] == ["U1", "U2"]
    assert {claim.group for claim in claims[-2:]} == {OWN}
    assert {claim.where for claim in claims[-2:]} == {"not in the paper"}


def test_a_name_that_ends_in_a_star_means_all_that_begin_so():
    def sources(experiment: str) -> list[tuple[str, str]]:
        claim = OWN_CLAIM | {"data": [{"experiment": experiment, "metric": "half_life"}]}
        # A function that takes one table only is refused more of them.
        found = jobs(SLOW, {"experiments": {"slower": SLOW["experiments"]["slow"]}},
                     {"claims": {"U1": claim}})  # fmt: skip
        return found.studies[STUDY].sources("U1")

    assert sources("slowe*") == [("slower", "half_life")]
    with pytest.raises(InputError, match=r"takes the tables \(half_lives\) and uses"):
        sources("slow*")
    with pytest.raises(InputError, match=r"claims > U1: experiment: unknown key 'fast\*'"):
        sources("fast*")


@pytest.mark.parametrize(
    ("experiment", "told"),
    [("printed", None), ("slow", "seeds: 1-10 instead of 1-5; ")],
)
def test_printed_values_are_those_of_the_default_settings_here_too(experiment, told):
    claim = OWN_CLAIM | {
        "evidence": "learning.as_printed", "data": [{"experiment": experiment, "metric": "error"}],
        "test": {"kind": "published", "tolerance": 1}, "published_table": "fig1.csv",
    }  # fmt: skip
    unlike = with_claims(U1=claim).studies[STUDY].unlike_published
    assert unlike.keys() == ({"claim U1"} if told else set())
    assert unlike.get("claim U1", "").startswith(told or "")


def test_texts_are_those_of_the_figure_and_not_of_its_picture():
    said = jobs(SLOW, {"texts": {"slow": TEXT}}).studies[STUDY]
    assert [said.text(name).label for name in ("slow", "fig1")] == ["L", "Figure 1"]
    assert jobs(SLOW).studies[STUDY].text("slow").label == "Figure 1"


def test_a_scorecard_keeps_it_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = []
    for claim, verdict in (("C2", "replicated"), ("U1", "does not hold")):
        found = Verdict(claim=claim, verdict=verdict, summary="So", seeds=10, comparisons=[])
        paths.append(tmp_path / f"{claim}.json")
        write_json(paths[-1], found.model_dump(mode="json"), {})
    step = with_claims(U1=OWN_CLAIM).ready(SCORECARD, ["card.md", "card.parquet"])
    inputs = tuple(Input(str(path), "verdict") for path in paths)
    make_output(replace(step, inputs=inputs))
    card = pd.read_parquet("card.parquet").set_index("claim")
    assert card.loc[["C2", "U1"], "kind"].tolist() == ["claim", "own"]
    theirs, ours = (tmp_path / "card.md").read_text().split("## A user's own claims")
    assert "| **replicated** | 1 |" in theirs
    assert "does not hold | So" not in theirs
    assert "| U1 | not in the paper | It takes twice as long. | does not hold | So |" in ours


def test_a_wrong_table_of_evidence_leaves_the_others_their_verdicts(tmp_path, monkeypatch):
    """Of one family; in the end the scorecard refuses the wrong one, with its function."""
    monkeypatch.chdir(tmp_path)
    found = jobs()
    tables = {
        "C2": pd.DataFrame({"cell": "a", "seed": range(10)}),
        "C3": pd.DataFrame(
            {"cell": "a", "seed": range(10), "value": [1 + n / 99 for n in range(10)]}
        ),
    }
    verdicts = []
    for claim in tables:
        verdicts.append(tmp_path / f"{claim}.json")
        paths = [str(tmp_path / f"{name}.parquet") for name in tables]
        order = found.ready(VERDICT.format(claim), [str(verdicts[-1])], paths)
        for item, table in zip(order.inputs, tables.values(), strict=True):
            assert item.role == "evidence"
            write_table(
                item.file, table, provenance(found.ready(EVIDENCE_OF.format(item.file.stem)))
            )
        make_output(order)
    wrong, right = map(scorecard.read_verdict, verdicts)
    said = (
        "claim C2: a test of the kind interval needs evidence with numbers in the columns value,"
        " and one row for each cell, seed; mend the function that returns it"
    )
    assert (wrong.verdict, wrong.summary) == ("not tested", said)
    assert right.verdict == "replicated"
    with pytest.raises(InputError) as error:
        scorecard.refuse_wrong_tables(found.studies[STUDY].registry, [wrong, right])
    assert error.value.message == f"claim C2, learning.over_twice_the_variance: {said}"


def test_the_page_shows_it_apart_and_does_not_count_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Folder(tmp_path)
    (counted,) = (line for line in folder.html().splitlines() if "What holds: " in line)
    claim = OWN_CLAIM | {"figure": "mine", "statement": "Ours <b>holds</b>"}
    folder.copy_figure("fig1", "mine")
    folder.figures["mine"] = {"kind": "fig1"}
    folder.own = {"claims": {"U1": claim}, "texts": {"mine": TEXT | {"label": "My figure"}}}
    folder.write_verdict("U1", "verified", [comparison()])
    html = folder.html()
    assert counted in html
    assert 'Not counted: <a href="#own">1 of a user\'s own</a> (1 verified).' in html
    own, errata = html.index('<section id="own"'), html.index('<section id="errata"')
    assert html.index('id="claim-U1"') > own > errata
    assert "Ours &lt;b&gt;holds&lt;/b&gt;" in html
    assert 'Among a user\'s own:\n<a href="#claim-U1">U1</a>' in html
    assert '<span class="label">My figure</span>' in html
    assert "The words are those of the figure of this kind" not in html


def test_it_is_not_compared_with_the_reference():
    default, found = jobs(), with_claims(U1=OWN_CLAIM)
    verdicts = {
        claim: Verdict(claim=claim, verdict="verified", summary="So", seeds=0, comparisons=[])
        for claim in ("C2", "U1")
    }
    tables = {
        EVIDENCE: pd.DataFrame({"claim": ["C2", "U1"], "value": [1, 2]}),
        FINGERPRINTS: pd.DataFrame({"experiment": ["printed", "slow"], "seed": [1, 1]}),
    }
    reference = Bundle(tables, verdicts, {"settings": settings_digests(default, STUDY)})
    current = _without_additions(
        Bundle(tables, verdicts, {"settings": settings_digests(found, STUDY)}), reference
    )
    assert list(current.verdicts) == ["C2"]
    assert current.tables[EVIDENCE]["claim"].tolist() == ["C2"]
    assert current.tables[FINGERPRINTS]["experiment"].tolist() == ["printed"]


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (lambda table: table["half_life"], "KeyError: 'half_life'"),
        (lambda table: table.query("half_life > 1"), "UndefinedVariableError: name 'half_life'"),
        (lambda table: table.half_life, "AttributeError: 'DataFrame' object has no attribute"),
    ],
)
def test_a_metric_without_the_columns_is_one_sentence(tmp_path, monkeypatch, reading, said):
    claim = OWN_CLAIM | {"data": [{"experiment": "slow", "metric": "error"}]}
    found = with_claims(U1=claim)
    path = EVIDENCE_OF.format("U1")
    (metric,) = found.steps[path].reads
    order = found.ready(path, [str(tmp_path / "U1.parquet")])
    table = pd.DataFrame({"seed": range(1, 11), "error": 1.0})
    monkeypatch.setattr("replication.run.stages.read_table", lambda *_: table)
    monkeypatch.setattr("replication.run.stages.read_note", lambda *_: None)
    measure = wraps(learning.over_twice_the_variance)(lambda measured: reading(measured.table))
    monkeypatch.setattr(learning, "over_twice_the_variance", measure)
    told = str(StepsFile([order], tmp_path))
    done = CliRunner().invoke(run.main, [told])
    assert isinstance(done.exception, SystemExit), done.exception
    assert f"claim U1: {order.program}.over_twice_the_variance cannot read {metric} ({said}" in (
        done.output
    )
    assert not (tmp_path / "U1.parquet").exists()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"value": "error", "cell": "all"}, ""),
        ({"value": "eror", "cell": "all"}, "claim U1: unknown column 'eror'; did you mean 'error'"),
    ],
)
def test_a_claim_of_your_own_needs_no_python(tmp_path, monkeypatch, row, said):
    claim = OWN_CLAIM | {"data": [{"experiment": "slow", "metric": "error"}], "evidence": row}
    found = with_claims(U1=claim)
    path = EVIDENCE_OF.format("U1")
    assert found.steps[path].programs == ("replication.study.vocabulary",)
    order = found.ready(path, [str(tmp_path / "U1.parquet")])
    table = pd.DataFrame({"seed": range(1, 11), "error": 1.0})
    monkeypatch.setattr("replication.run.stages.read_table", lambda *_: table)
    monkeypatch.setattr("replication.run.stages.read_note", lambda *_: None)
    done = CliRunner().invoke(run.main, [str(StepsFile([order], tmp_path))])
    assert said in done.output, done.exception
    if not said:
        evidence = pd.read_parquet(tmp_path / "U1.parquet")
        assert list(evidence["cell"]) == ["all"] * 10
        assert list(evidence["value"]) == [1] * 10
