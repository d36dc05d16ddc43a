"""Differences from the reference are named, with their size and tolerance."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import JOBS, ROOT
from small_reference import (
    EVIDENCE,
    FIGURE,
    RUNS,
    TEST,
    absent,
    changed,
    elsewhere,
    rows,
    small_reference,
    with_table,
)

from replication.bundle.bundle import (
    FINGERPRINTS,
    Bundle,
    figure_path,
    find_references,
    read_bundle,
    reference_folder,
    run_keys,
)
from replication.bundle.computed import collect_evidence, machine
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.verify.comparison import (
    compare_with_reference,
    difference_sentence,
    tolerances_of_study,
)
from replication.verify.differences import (
    ACROSS_PROCESSORS,
    CONSTANT_COLUMNS,
    OTHER_SEEDS,
    SAME_PROCESSOR,
    UNTRAINED_COLUMN,
    Difference,
    table_differences,
)


@pytest.fixture
def reference():
    return small_reference()


def test_what_the_references_own_evidence_says_is_the_same_on_every_processor(reference):
    verdict = reference.verdicts["T1"]
    moved = verdict.comparisons[0].model_copy(update={"low": -9.0})
    for part, quantity in (
        ({"comparisons": [moved]}, "low in row 1 (a, holds)"),
        ({"resolution": 1e-4}, "resolution in row 1 (a, holds)"),
        ({"summary": "All is well."}, "verdict on T1"),
    ):
        edited = changed(reference, verdicts={"T1": verdict.model_copy(update=part)})
        found = elsewhere(changed(reference, verdicts={}))
        assert [row["quantity"] for row in rows(found, edited)] == [quantity]


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_equals_no_number(reference, wrong):
    wild = FIGURE.assign(entropy_mean=wrong)
    found = elsewhere(with_table(reference, "figures/fig6.csv", wild))
    assert len(rows(found, reference)) == 2
    assert rows(found, with_table(reference, "figures/fig6.csv", wild)) == []


def test_printed_numbers_are_the_same_on_every_processor():
    printed = pd.DataFrame({"value": [1.0, 2.0, 3.0], "published": [1.0, 2.0, 3.0]})
    found = printed.assign(published=[1.0, 2.0001, 3.0])
    (row,) = table_differences("a", found, printed, ACROSS_PROCESSORS)
    assert row.quantity == "published in row 2"


def test_an_effect_counts_on_the_same_processor_only(reference):
    """It divides by a spread over seeds that may vanish; 642 and 614 were the same result."""
    verdict = reference.verdicts["T1"]
    larger = verdict.comparisons[0].model_copy(update={"effect": -614.0})
    found = changed(
        reference, verdicts={"T1": verdict.model_copy(update={"comparisons": [larger]})}
    )
    assert [row["quantity"] for row in rows(found, reference)] == ["effect in row 1 (a, holds)"]
    assert rows(elsewhere(found), reference) == []


@pytest.mark.parametrize(
    ("lacks", "names"),
    [
        ({"tables": {}}, ["figure fig6", "claim T1", "2 runs of e"]),
        ({"verdicts": {}}, ["verdict on T1"]),
    ],
)
def test_what_a_reference_lacks_is_named(reference, lacks, names):
    assert absent(changed(reference, **lacks)) == names
    assert absent(reference) == []


@pytest.mark.parametrize(
    ("numbers", "texts", "row"),
    [
        ([0.5, 1.5, 2.5], ["0.5", "1.5", "abc"], 3),
        ([1, 2, 3], ["1", "2.0.0", "3"], 2),
        ([True, False, True], ["yes", "False", "True"], 1),
    ],
)
def test_a_text_among_numbers_is_the_only_difference(reference, numbers, texts, row):
    """It makes texts of all numbers of its column."""
    known, found = (
        with_table(reference, "figures/fig6.csv", pd.DataFrame({"x": values}))
        for values in (numbers, texts)
    )
    for sides in ((found, known), (known, found)):
        assert [cell["quantity"] for cell in rows(*sides)] == [f"x in row {row}"]


def test_sentences_say_what_changed(reference):
    nearly = with_table(reference, "figures/fig6.csv", FIGURE.assign(entropy_mean=[2.0, 0.3]))
    depends = {"settings": {"figure fig6": "2", "claim T2": "1"}, "code": {}}
    found = changed(nearly, depends=reference.depends | depends)
    said = [*map(difference_sentence, compare_with_reference(found, reference, {}))]
    assert said[0].startswith("figures/fig6.csv: entropy_mean in row 2 (y) is 0.3, expected 0.333")
    assert said[1:] == [
        "claim T2 is new since the reference was made",
        "figure fig6 is not as it was when the reference was made",
        "the code of m is gone since the reference was made",
    ]
    absent = Difference("results", "verdict on T1", "there", "missing")
    assert difference_sentence(absent) == "results: verdict on T1 is missing"
    other = Difference("results", "verdict on T1", "none", "replicated")
    assert difference_sentence(other) == "results: verdict on T1: replicated, expected none"


def test_missing_values_are_not_equal_to_numbers():
    seeds = pd.DataFrame({"seed": pd.array([1, 2], dtype="Int64")})
    none = pd.DataFrame({"seed": pd.array([None, None], dtype="Int64")})
    assert len([*table_differences("t", none, seeds, ACROSS_PROCESSORS)]) == 2
    assert len([*table_differences("t", seeds.replace({2: 3}), seeds, ACROSS_PROCESSORS)]) == 1
    assert [*table_differences("t", none, none, ACROSS_PROCESSORS)] == []


def test_a_missing_seed_is_named(reference):
    four = EVIDENCE.head(4)
    found = changed(
        reference,
        tables={"evidence.csv": collect_evidence({"T1": four})},
        verdicts={"T1": judge([Judged("T1", TEST, four)])["T1"]},
    )
    listed = rows(found, reference)
    assert {row["quantity"] for row in listed} == {"verdict on T1", "number of rows"}
    assert any("by 4 seeds" in str(row["found"]) for row in listed)


def test_changed_settings_and_code_are_named(reference):
    found = changed(
        reference, depends=reference.depends | {"settings": {"figure fig6": "2"}, "code": {}}
    )
    assert [(row["place"], row["quantity"]) for row in rows(found, reference)] == [
        ("settings", "figure fig6"),
        ("code", "m"),
    ]


def test_one_bit_counts_on_the_same_processor_and_not_on_another(reference):
    nearly = FIGURE.assign(entropy_mean=[2.0, 1 / 3 + 1e-16])
    found = with_table(reference, "figures/fig6.csv", nearly)
    (row,) = rows(found, reference)
    assert row["place"] == "figures/fig6.csv"
    assert row["quantity"] == "entropy_mean in row 2 (y)"
    assert row["tolerance"] == "same processor"
    assert rows(elsewhere(found), reference) == []


def test_digests_of_bits_do_not_count_on_another_processor(reference):
    found = changed(reference, tables={"fingerprints.csv": RUNS.assign(digest="00")})
    assert {row["quantity"] for row in rows(found, reference)} == {
        "digest in row 1",
        "digest in row 2",
    }
    assert rows(elsewhere(found), reference) == []


def test_one_seed_of_an_experiment_is_enough(reference):
    found = changed(reference, tables={"fingerprints.csv": RUNS.tail(1)})
    assert rows(found, reference) == []
    wrong = RUNS.tail(1).assign(loss=0.6)
    (row,) = rows(changed(found, tables={"fingerprints.csv": wrong}), reference)
    assert row["difference"] == pytest.approx(0.1)
    assert row["quantity"] == "loss in row 2 (2, m, cd, e)"


def test_a_spread_is_that_of_all_seeds_of_the_reference(reference):
    """Where one seed is computed, its row alone has none."""
    losses = [0.0071, 0.0131, 0.0009, 0.0190, 0.0046, 0.0102, 0.0031, 0.0158]
    runs = pd.DataFrame({"seed": range(1, 9), "digest": "ab", "loss": losses, "experiment": "e"})
    whole = with_table(reference, "fingerprints.csv", runs)

    def found(table: pd.DataFrame) -> list[Difference]:
        there = elsewhere(with_table(changed(reference, verdicts={}), "fingerprints.csv", table))
        return [*compare_with_reference(there, whole, {}, others=OTHER_SEEDS)]

    one = runs.head(1)
    assert found(one.assign(loss=0.0131)) == []
    assert found(pd.concat([runs.head(2), one.assign(experiment="f")]))[0].reference == "none"
    (row,) = found(one.assign(loss=1.0))
    assert row.allowed == pytest.approx(10 * runs["loss"].std())
    assert row.quantity == "loss in row 1 (1, e)"
    near = elsewhere(with_table(reference, "fingerprints.csv", one.assign(loss=0.0072)))
    assert [row.tolerance for row in compare_with_reference(near, whole, {})] == [
        "across processors"
    ]


AMPLIFYING = [
    name
    for name in find_references(ROOT)
    if tolerances_of_study(JOBS.studies[name])[1] is OTHER_SEEDS
]
EXPERIMENTS = [
    pytest.param(name, experiment, marks=[pytest.mark.thorough] if index else [])
    for name in AMPLIFYING
    for index, experiment in enumerate(JOBS.studies[name].experiments)
]


def test_every_study_that_amplifies_rounding_is_verified_as_another_processor_computes():
    for name in AMPLIFYING:
        assert (ROOT / f"tests/{name}/test_levels_of_{name}.py").is_file()


@pytest.fixture(scope="module")
def references():
    return {name: read_bundle(reference_folder(ROOT, name))[0] for name in AMPLIFYING}


@pytest.mark.parametrize(("study", "experiment"), EXPERIMENTS)
def test_of_a_study_that_amplifies_rounding_every_seed_alone_may_be_like_another(
    references, study, experiment
):
    """By its fingerprint, whatever its experiment; and no seed may be far from all."""
    whole = references[study]
    runs = whole.tables[FINGERPRINTS].query("experiment == @experiment")
    told_apart = [name for name in run_keys(runs) if name != "seed"]
    numbers = runs.select_dtypes("float").columns.difference([*CONSTANT_COLUMNS, UNTRAINED_COLUMN])
    ordered = runs.sort_values([*told_apart, "seed"])
    before = ordered.groupby(told_apart, sort=False, dropna=False)[numbers]
    other = ordered.assign(**before.shift(1).fillna(before.shift(-1)).fillna(ordered[numbers]))

    def places(table: pd.DataFrame) -> set[str]:
        found = Bundle({FINGERPRINTS: table}, {}, whole.depends | {"machine": {"cpu": "b"}})
        return {
            row.quantity for row in compare_with_reference(found, whole, {}, others=OTHER_SEEDS)
        }

    for _, alone in [*other.groupby("seed")][:2]:
        assert places(alone) == set()
    spread = runs[numbers].std().fillna(0)
    one = runs[runs["seed"] == runs["seed"].min()]
    far = places(one.assign(**(one[numbers] + 25 * spread)))
    assert {quantity.split()[0] for quantity in far} == {*numbers[spread > 0]}


@pytest.mark.parametrize("values", [[1.0, np.nan, np.nan], [1.0]])
def test_one_number_alone_has_no_spread(values):
    whole = pd.DataFrame({"seed": range(1, len(values) + 1), "x": values})
    one = whole.head(1)
    assert [*table_differences("t", one.assign(x=1.000001), whole, OTHER_SEEDS)] == []
    (row,) = table_differences("t", one.assign(x=1.1), whole, OTHER_SEEDS)
    assert row.allowed == pytest.approx(1.1 * 5e-4)


def test_rows_of_which_each_kind_has_a_single_seed_are_of_one_kind():
    table = pd.DataFrame({"arm": list("abc"), "seed": 7, "loss": [0.1, 0.3, 0.8]})
    far = 0.3 + 6e-3 * table["loss"].std()
    (row,) = table_differences("t", table.assign(loss=[0.1, far, 0.8]), table, ACROSS_PROCESSORS)
    assert row.quantity == "loss in row 2 (b, 7)"
    assert row.allowed == pytest.approx(5e-3 * table["loss"].std())
    near = table.assign(loss=[0.1, 0.3 + 2.9e-3 * table["loss"].std(), 0.8])
    assert [*table_differences("t", near, table, ACROSS_PROCESSORS)] == []
    # All rows together may not move by as much.
    (row,) = table_differences(
        "t", table.assign(loss=table["loss"] + 2.9e-3 * table["loss"].std()), table,
        ACROSS_PROCESSORS,
    )  # fmt: skip
    assert row.quantity == "mean of loss"
    # Rows without seeds may be of any quantity, so that only a share of the number is allowed.
    (row,) = table_differences(
        "t", near.drop(columns="seed"), table.drop(columns="seed"), ACROSS_PROCESSORS
    )
    assert row.allowed == pytest.approx(5e-4 * near["loss"][1])


def test_seeds_are_whole_numbers_where_some_rows_have_none():
    """Their values, and their means, may be those of other seeds; a row without a seed stays."""
    seeds = [1.0, 2, 3, 4, np.nan]
    table = pd.DataFrame({"part": list("aaaab"), "seed": seeds, "x": [1.0, 2, 3, 4, 5]})
    other = table.assign(x=[1.5, 1.5, 3.5, 4.5, 5])
    assert [*table_differences("t", other, table, OTHER_SEEDS)] == []
    (row,) = table_differences("t", table.assign(x=[1.0, 2, 3, 4, 5.5]), table, OTHER_SEEDS)
    assert row.quantity == "mean of x (b)"
    (row,) = table_differences("t", table.assign(x=[11.0, 12, 13, 14, 5]), table, OTHER_SEEDS)
    assert row.quantity == "mean of x over seeds (a)"


def test_means_over_seeds_spread_as_their_seeds_do():
    table = pd.DataFrame({"part": "a", "seed": [1, 2, 3, 4], "x": [1.0, 2, 3, 4], "x_mean": 2.5})
    assert [*table_differences("t", table.assign(x_mean=2.6), table, OTHER_SEEDS)] == []
    alone = table.drop(columns="x")
    assert len([*table_differences("t", alone.assign(x_mean=2.6), alone, OTHER_SEEDS)]) == 5


def test_runs_of_a_seed_are_told_apart_by_the_columns_of_their_study(reference):
    of_words = partial(with_table, reference, "fingerprints.csv")
    both = RUNS.assign(seed=1, mixture=["a", "b"]).rename(columns={"mixture": "words"})
    assert rows(of_words(both.tail(1)), of_words(both)) == []
    (row,) = rows(of_words(both.head(1)), of_words(both.assign(loss=9.0)))
    assert row["quantity"] == "loss in row 1 (1, a, ab, e)"
    (row,) = rows(of_words(both.tail(1).assign(mixture="m")), of_words(RUNS.tail(1)))
    assert row["quantity"] == "columns"
    due = both[["experiment", "seed", "words"]]
    assert absent(of_words(both.head(1)), due) == ["1 runs of e"]
    assert absent(of_words(both.head(1)), both[["experiment", "seed"]]) == []
    assert absent(of_words(RUNS), due) == ["2 runs of e"]


def test_experiments_may_have_numbers_of_their_own(reference):
    runs = pd.concat([RUNS, RUNS.assign(experiment="f").rename(columns={"loss": "norm"})])
    whole = with_table(reference, "fingerprints.csv", runs)
    assert rows(changed(reference, tables={"fingerprints.csv": RUNS}), whole) == []


def test_what_jumps_as_a_count_does_may_differ_more_on_another_processor(reference):
    recall = pd.DataFrame({"recall": [step / 20 for step in range(100)]})
    jumped = recall.assign(recall=recall["recall"].where(recall.index != 7, 0.4))
    whole = with_table(reference, "figures/fig6.csv", recall)
    found = elsewhere(with_table(reference, "figures/fig6.csv", jumped))
    assert len([*compare_with_reference(found, whole, {})]) == 1
    assert [*compare_with_reference(found, whole, {}, counts={"figures/fig6.csv"})] == []
    all_of_them = elsewhere(with_table(reference, "figures/fig6.csv", recall + 0.05))
    (row,) = compare_with_reference(all_of_them, whole, {}, counts={"figures/fig6.csv"})
    assert row.quantity == "mean of recall"


def test_where_training_amplifies_rounding_another_processor_is_like_other_seeds(reference):
    levels = pd.DataFrame({"entropy": np.linspace(0, 1, 100)})
    others = levels.sample(frac=1, random_state=1).reset_index(drop=True)
    whole = with_table(reference, "figures/fig6.csv", levels)
    found = with_table(reference, "figures/fig6.csv", others)
    assert len([*compare_with_reference(elsewhere(found), whole, {}, others=OTHER_SEEDS)]) == 0
    assert len([*compare_with_reference(elsewhere(found), whole, {})]) > 50
    assert len([*compare_with_reference(found, whole, {}, others=OTHER_SEEDS)]) > 50, "not here"
    zero = elsewhere(with_table(reference, "figures/fig6.csv", levels * 0))
    (row,) = compare_with_reference(zero, whole, {}, others=OTHER_SEEDS)
    assert (row.quantity, row.tolerance) == ("mean of entropy", "other seeds")


@pytest.mark.parametrize(
    ("word", "number"),
    [("replicated", 0), ("open", 0), ("in part", 0), ("does not hold", 1)],
)
def test_other_seeds_may_leave_open_what_seeds_decided(reference, word, number):
    verdict = reference.verdicts["T1"].model_copy(update={"verdict": word})
    found = elsewhere(changed(reference, verdicts={"T1": verdict}))
    assert len([*compare_with_reference(found, reference, {}, others=OTHER_SEEDS)]) == number
    fewer = changed(found, verdicts={"T1": verdict.model_copy(update={"seeds": 4})})
    assert len([*compare_with_reference(fewer, reference, {}, others=OTHER_SEEDS)]) == 1


def test_a_column_that_is_off_as_a_whole_is_named(reference):
    wide = pd.DataFrame({"name": "x", "entropy": [float(step) for step in range(100)]})
    whole = with_table(reference, "figures/fig6.csv", wide)
    moved = elsewhere(
        with_table(reference, "figures/fig6.csv", wide.assign(entropy=wide["entropy"] + 0.1))
    )
    (row,) = compare_with_reference(moved, whole, {})
    assert (row.quantity, row.tolerance) == ("mean of entropy (x)", "across processors")
    one = wide.assign(entropy=wide["entropy"].where(wide.index != 7, 7.1))
    assert [
        *compare_with_reference(
            elsewhere(with_table(reference, "figures/fig6.csv", one)), whole, {}
        )
    ] == []


def test_p_is_compared_by_its_size_on_another_processor(reference):
    verdict = reference.verdicts["T1"]
    for factor, number in ((1.05, 0), (2, 1)):
        other = {"p": verdict.comparisons[0].p * factor}
        numbers = [verdict.comparisons[0].model_copy(update=other)]
        found = elsewhere(
            changed(reference, verdicts={"T1": verdict.model_copy(update={"comparisons": numbers})})
        )
        assert len(rows(found, reference)) == number


@pytest.mark.parametrize("tolerances", [SAME_PROCESSOR, ACROSS_PROCESSORS])
def test_large_differences_and_other_shapes_always_count(tolerances):
    assert (
        len([*table_differences("t", FIGURE.assign(entropy_mean=[2.1, 0.1]), FIGURE, tolerances)])
        == 2
    )
    assert len([*table_differences("t", FIGURE.assign(name="x"), FIGURE, tolerances)]) == 1
    assert len([*table_differences("t", FIGURE.drop(columns="name"), FIGURE, tolerances)]) == 1
    missing = FIGURE.assign(entropy_mean=[2.0, float("nan")])
    assert len([*table_differences("t", missing, FIGURE, tolerances)]) == 1
    assert [*table_differences("t", missing, missing, tolerances)] == []


def test_a_table_with_fewer_rows_is_named(reference):
    found = with_table(reference, "figures/fig6.csv", FIGURE.head(1))
    assert [row["quantity"] for row in rows(found, reference)] == ["number of rows"]


def test_what_is_compared_as_counts_is_there():
    for study in JOBS.studies.values():
        names, _ = tolerances_of_study(study)
        assert len(names) >= len(study.registry.compared_as_counts)
        assert names <= study.claims.keys() | {*map(figure_path, study.files.tables)}


def test_an_emulated_instruction_set_is_another_processor(monkeypatch):
    for name in ("ATEN_CPU_CAPABILITY", "MKL_CBWR"):
        monkeypatch.delenv(name, raising=False)
    own = machine()["processor"]
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert machine()["processor"] == f"{own} ATEN_CPU_CAPABILITY=default"
