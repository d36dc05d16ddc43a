"""A reference is renewed where its study was computed; the rest stays, or all is refused."""

import re
from dataclasses import replace

import pandas as pd
import pytest
from conftest import JOBS, ROOT

from replication.base.errors import InputError
from replication.bundle.bundle import EVIDENCE, FINGERPRINTS, Bundle, read_bundle, reference_folder
from replication.bundle.computed import dependencies
from replication.judge.verdicts import Verdict
from replication.verify.reference import merge_bundles

STUDY = JOBS.studies["example"]
KEPT = replace(
    read_bundle(reference_folder(ROOT, "example"))[0], depends=dependencies(JOBS, "example")
)
NOTHING = Bundle({}, {}, KEPT.depends)


def with_settings(reference: Bundle, **changes: str | None) -> Bundle:
    """The same, made with other settings of some parts, or without them."""
    settings = KEPT.depends["settings"] | {
        name.replace("_", " "): digest for name, digest in changes.items()
    }
    known = {name: digest for name, digest in settings.items() if digest}
    return replace(reference, depends=reference.depends | {"settings": known})


def rows(name: str, kind: str, part: str) -> pd.DataFrame:
    table = KEPT.tables[name]
    return table[table[kind] == part]


def test_with_nothing_computed_everything_is_judged_anew():
    doubted = {
        claim: verdict.model_copy(update={"verdict": "open"})
        for claim, verdict in KEPT.verdicts.items()
    }
    merged = merge_bundles(STUDY, NOTHING, replace(KEPT, verdicts=doubted))
    assert merged.verdicts == KEPT.verdicts
    for name, table in KEPT.tables.items():
        pd.testing.assert_frame_equal(merged.tables[name], table)


def test_a_new_reference_is_what_is_computed():
    merged = merge_bundles(STUDY, KEPT, Bundle())
    assert (merged.verdicts, merged.depends) == (KEPT.verdicts, KEPT.depends)
    assert merged.tables.keys() == KEPT.tables.keys()
    for name, table in KEPT.tables.items():
        pd.testing.assert_frame_equal(merged.tables[name], table)


def test_what_is_computed_takes_its_place():
    evidence = rows(EVIDENCE, "claim", "C2").assign(value=lambda table: table["value"] + 5)
    runs = rows(FINGERPRINTS, "experiment", "printed").assign(digest="new")
    figure = KEPT.tables["figures/fig1.csv"].head(3)
    found = replace(
        NOTHING, tables={EVIDENCE: evidence, FINGERPRINTS: runs, "figures/fig1.csv": figure}
    )
    # Whether their settings are others does not matter: they are computed.
    changed = with_settings(KEPT, claim_C2="other", figure_fig1="other", experiment_printed=None)
    merged = merge_bundles(STUDY, found, changed)
    tables = merged.tables
    values = tables[EVIDENCE].set_index("claim")["value"]
    before = KEPT.tables[EVIDENCE].set_index("claim")["value"]
    assert (values["C2"] == before["C2"] + 5).all()
    pd.testing.assert_series_equal(values["C1"], before["C1"])
    digests = tables[FINGERPRINTS].set_index("experiment")["digest"]
    assert {*digests["printed"]} == {"new"}
    assert "new" not in {*digests["replication"]}
    assert len(tables["figures/fig1.csv"]) == 3
    assert merged.verdicts["C2"].verdict == "does not hold"
    assert list(merged.verdicts) == list(STUDY.claims)


@pytest.mark.parametrize("part", ["claim C2", "figure fig2", "experiment replication"])
def test_what_is_neither_computed_nor_of_these_settings_is_refused(part):
    words = f"{part}: not computed here, and not in the reference with these settings; run"
    for changes in ("other", None):
        with pytest.raises(InputError, match=f"^{re.escape(words)}"):
            merge_bundles(STUDY, NOTHING, with_settings(KEPT, **{part.replace(" ", "_"): changes}))


def test_of_many_that_are_refused_some_are_named():
    with pytest.raises(InputError, match=r"and 2 more: not computed here"):
        merge_bundles(STUDY, NOTHING, replace(KEPT, depends=KEPT.depends | {"settings": {}}))


def test_how_a_claim_is_judged_may_have_changed():
    merged = merge_bundles(STUDY, NOTHING, with_settings(KEPT, test_C2="other"))
    assert merged.depends["settings"] == KEPT.depends["settings"]


def test_a_claim_that_could_not_be_measured_stays_so():
    why = Verdict.without_evidence("C2", "too few")
    without = replace(
        KEPT,
        tables=KEPT.tables | {EVIDENCE: KEPT.tables[EVIDENCE].query("claim != 'C2'")},
        verdicts=KEPT.verdicts | {"C2": why},
    )
    assert merge_bundles(STUDY, NOTHING, without).verdicts["C2"] == why


def test_a_reference_of_two_processors_names_both():
    other = replace(KEPT, depends=KEPT.depends | {"machine": {"processor": "a", "torch": "1"}})
    here = Bundle(
        {"figures/fig1.csv": KEPT.tables["figures/fig1.csv"]},
        {},
        KEPT.depends | {"machine": {"processor": "b", "torch": "1"}},
    )
    once = merge_bundles(STUDY, here, other)
    assert once.depends["machine"] == {"processor": "a, in part b", "torch": "1"}
    again = merge_bundles(STUDY, here, once)
    assert again.depends["machine"] == once.depends["machine"]
    judged = merge_bundles(STUDY, replace(here, tables={}), other)
    assert judged.depends["machine"] == other.depends["machine"]


def test_new_digests_change_no_number_and_no_machine():
    doubted = {
        claim: verdict.model_copy(update={"verdict": "open"})
        for claim, verdict in KEPT.verdicts.items()
    }
    before = with_settings(replace(KEPT, verdicts=doubted), claim_C2="other", claim_C99="gone")
    before = replace(before, depends=before.depends | {"code": {}, "machine": {"processor": "a"}})
    after = merge_bundles(STUDY, NOTHING, before, trusted=True)
    assert after.depends == KEPT.depends | {"machine": {"processor": "a"}}
    assert after.verdicts == KEPT.verdicts
    assert after.tables.keys() == KEPT.tables.keys()
    for name, table in KEPT.tables.items():
        pd.testing.assert_frame_equal(after.tables[name], table)


def test_claims_that_a_figure_names_get_the_words_of_today():
    path, claim = "figures/fig1.csv", STUDY.claims["C2"]
    stale = KEPT.tables[path].assign(claim="C2", statement="It was otherwise.")
    tables = KEPT.tables | {path: stale}
    after = merge_bundles(STUDY, NOTHING, replace(KEPT, tables=tables), trusted=True).tables[path]
    assert {*after["statement"]} == {claim.statement}
    assert "expected" not in after
    unchanged = [*KEPT.tables[path]]
    pd.testing.assert_frame_equal(after[unchanged], stale[unchanged])


@pytest.mark.parametrize(
    ("table", "rest", "lacking"),
    [
        (EVIDENCE, "claim != 'C2'", "claim C2"),
        (FINGERPRINTS, "experiment != 'printed'", r"\d+ runs of printed"),
        ("figures/fig1.csv", None, "figure fig1"),
    ],
)
def test_a_reference_without_what_the_study_has_gets_no_new_digests(table, rest, lacking):
    tables = dict(KEPT.tables)
    whole = tables.pop(table)
    if rest:
        tables[table] = whole.query(rest)
    with pytest.raises(InputError, match=rf"^{lacking}: not computed here, and not in the ref"):
        merge_bundles(STUDY, NOTHING, replace(KEPT, tables=tables), trusted=True)
