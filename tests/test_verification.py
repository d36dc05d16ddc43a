"""The lock of results: what differs is named, with its size and its tolerance."""

import pandas as pd
import pytest

from transformer_dynamics.errors import InputError
from transformer_dynamics.registry import Interval
from transformer_dynamics.verification.comparison import compare, missing
from transformer_dynamics.verification.differences import (
    ACROSS_PROCESSORS,
    SAME_PROCESSOR,
    differences,
)
from transformer_dynamics.verification.family import Family, Member
from transformer_dynamics.verification.judgement import Judged, judge
from transformer_dynamics.verification.lock import (
    Expected,
    Lock,
    collect_evidence,
    judge_again,
    read_lock,
    write_lock,
)

TEST = Interval(
    kind="interval",
    upper=0,
    power={"effect": 1, "seeds": 10, "comparisons": 1, "probability": 0.5},
)
EVIDENCE = pd.DataFrame({"cell": "a", "seed": range(1, 6), "value": [-1.1, -1.3, -0.9, -1.0, -1.2]})
FIGURE = pd.DataFrame({"eta_z": [0.5, 1.0], "name": ["x", "y"], "entropy_mean": [2.0, 1 / 3]})
RUNS = pd.DataFrame(
    {
        "seed": [1, 2],
        "mixture": "m",
        "digest": ["ab", "cd"],
        "loss": [0.25, 0.5],
        "experiment": "e",
    }
)
EXPECTED = Expected(
    {"figures/fig6.csv", "evidence.csv", "fingerprints.csv"},
    {"T1"},
    RUNS[["experiment", "seed", "mixture"]],
)
FAMILIES = [Family(members=[Member(claim="T1", test=TEST, program="p", settings={})])]


@pytest.fixture
def lock() -> Lock:
    return Lock(
        tables={
            "figures/fig6.csv": FIGURE,
            "evidence.csv": collect_evidence({"T1": EVIDENCE}),
            "fingerprints.csv": RUNS,
        },
        verdicts={"T1": judge([Judged("T1", TEST, EVIDENCE)])["T1"]},
        depends={"settings": {"figure fig6": "1"}, "code": {"m": "1"}, "machine": {"cpu": "a"}},
    )


def changed(lock: Lock, **parts: object) -> Lock:
    return Lock(**vars(lock) | parts)


def rows(found: Lock, lock: Lock) -> list[dict[str, object]]:
    again = judge_again(lock.tables["evidence.csv"], FAMILIES)
    return compare(found, lock, [], again).to_dict("records")


def test_a_lock_is_read_as_it_was_written(lock, tmp_path):
    write_lock(tmp_path, lock)
    read, edited = read_lock(tmp_path)
    assert edited == []
    assert read.verdicts == lock.verdicts
    assert rows(lock, read) == []


def test_a_new_lock_leaves_nothing_of_the_old_one(lock, tmp_path):
    write_lock(tmp_path, lock)
    write_lock(tmp_path, changed(lock, tables={"evidence.csv": lock.tables["evidence.csv"]}))
    assert not (tmp_path / "figures/fig6.csv").exists()


def test_verdict_edited_by_hand_is_named_even_if_the_manifest_was_edited_too(lock, tmp_path):
    write_lock(tmp_path, lock)
    file = tmp_path / "verdicts.json"
    file.write_text(file.read_text().replace('"replicated"', '"contradicted"'))
    read, edited = read_lock(tmp_path)
    assert edited == ["verdicts.json"]
    (row,) = compare(
        changed(lock, verdicts={}), read, [], judge_again(read.tables["evidence.csv"], FAMILIES)
    ).to_dict("records")
    assert row["quantity"] == "verdict on T1"
    assert row["locked"].startswith("contradicted by 5 seeds")
    assert row["found"].startswith("replicated by 5 seeds (1 of 1 hold; the least favourable")


def test_sentence_and_numbers_of_a_verdict_are_locked_too(lock):
    verdict = lock.verdicts["T1"]
    told = verdict.model_copy(update={"summary": "All is well."})
    (row,) = rows(lock, changed(lock, verdicts={"T1": told}))[:1]
    assert "(All is well.)" in row["locked"]
    moved = verdict.comparisons[0].model_copy(update={"estimate": -9.0})
    numbers = verdict.model_copy(update={"comparisons": [moved]})
    listed = rows(changed(lock, verdicts={"T1": numbers}), lock)
    assert [row["quantity"] for row in listed] == ["estimate in row 1 (a, holds)"]


@pytest.mark.parametrize(
    ("lacks", "names"),
    [
        ({"tables": {}}, ["evidence.csv", "figures/fig6.csv", "fingerprints.csv"]),
        ({"verdicts": {}}, ["verdict on T1"]),
    ],
)
def test_what_a_lock_lacks_is_named(lock, lacks, names):
    quantities = missing("lock", changed(lock, **lacks), EXPECTED)["quantity"].tolist()
    assert quantities[: len(names)] == names
    assert missing("lock", lock, EXPECTED).empty


def test_dropped_runs_and_evidence_are_named(lock):
    fewer = lock.tables | {"fingerprints.csv": RUNS.head(1), "evidence.csv": RUNS.assign(claim="")}
    quantities = missing("lock", changed(lock, tables=fewer), EXPECTED)["quantity"].tolist()
    assert quantities == ["evidence of T1", "1 runs of e"]


def test_a_foreign_file_in_the_lock_is_named(lock, tmp_path):
    write_lock(tmp_path, lock)
    (tmp_path / "figures/fig7.csv").write_text("x\n1\n")
    assert read_lock(tmp_path)[1] == ["figures/fig7.csv"]


def test_digests_that_look_like_numbers_stay_texts(lock, tmp_path):
    runs = RUNS.assign(digest=["0123456789012345", "123e456789012345"])
    write_lock(tmp_path, changed(lock, tables=lock.tables | {"fingerprints.csv": runs}))
    assert read_lock(tmp_path)[0].tables["fingerprints.csv"]["digest"].equals(runs["digest"])


def test_missing_values_are_not_equal_to_numbers():
    seeds = pd.DataFrame({"seed": pd.array([1, 2], dtype="Int64")})
    none = pd.DataFrame({"seed": pd.array([None, None], dtype="Int64")})
    assert len(differences("t", none, seeds, ACROSS_PROCESSORS)) == 2
    assert len(differences("t", seeds.replace({2: 3}), seeds, ACROSS_PROCESSORS)) == 1
    assert differences("t", none, none, ACROSS_PROCESSORS).empty


def test_evidence_edited_by_hand_is_named(lock, tmp_path):
    write_lock(tmp_path, lock)
    file = tmp_path / "evidence.csv"
    file.write_text(file.read_text().replace("-1.1", "9.1"))
    read, edited = read_lock(tmp_path)
    assert edited == ["evidence.csv"]
    quantities = {row["quantity"] for row in rows(lock, read)}
    assert "verdict on T1" in quantities


def test_a_missing_seed_is_named(lock):
    four = EVIDENCE.head(4)
    found = changed(
        lock,
        tables={"evidence.csv": collect_evidence({"T1": four})},
        verdicts={"T1": judge([Judged("T1", TEST, four)])["T1"]},
    )
    listed = rows(found, lock)
    assert {row["quantity"] for row in listed} == {"verdict on T1", "number of rows"}
    assert any("by 4 seeds" in str(row["found"]) for row in listed)


def test_changed_settings_and_code_are_named(lock):
    found = changed(lock, depends=lock.depends | {"settings": {"figure fig6": "2"}, "code": {}})
    assert [(row["place"], row["quantity"]) for row in rows(found, lock)] == [
        ("settings", "figure fig6"),
        ("code", "m"),
    ]


def test_one_bit_counts_on_the_same_processor_and_not_on_another(lock):
    nearly = FIGURE.assign(entropy_mean=[2.0, 1 / 3 + 1e-16])
    found = changed(lock, tables=lock.tables | {"figures/fig6.csv": nearly})
    (row,) = rows(found, lock)
    assert row["place"] == "figures/fig6.csv"
    assert row["quantity"] == "entropy_mean in row 2 (y)"
    assert row["tolerance"] == "same processor"
    other = {"machine": {"cpu": "b"}}
    assert rows(changed(found, depends=lock.depends | other), lock) == []


def test_digests_of_bits_do_not_count_on_another_processor(lock):
    found = changed(lock, tables={"fingerprints.csv": RUNS.assign(digest="00")})
    assert {row["quantity"] for row in rows(found, lock)} == {"digest in row 1", "digest in row 2"}
    assert rows(changed(found, depends=lock.depends | {"machine": {}}), lock) == []


def test_one_seed_of_a_locked_experiment_is_enough(lock):
    found = changed(lock, tables={"fingerprints.csv": RUNS.tail(1)})
    assert rows(found, lock) == []
    wrong = RUNS.tail(1).assign(loss=0.6)
    (row,) = rows(changed(found, tables={"fingerprints.csv": wrong}), lock)
    assert row["difference"] == pytest.approx(0.1)
    assert row["quantity"] == "loss in row 1 (e, 2, m, cd)"


@pytest.mark.parametrize("tolerances", [SAME_PROCESSOR, ACROSS_PROCESSORS])
def test_large_differences_and_other_shapes_always_count(tolerances):
    assert len(differences("t", FIGURE.assign(entropy_mean=[2.1, 0.1]), FIGURE, tolerances)) == 2
    assert len(differences("t", FIGURE.assign(name="x"), FIGURE, tolerances)) == 1
    assert len(differences("t", FIGURE.head(1), FIGURE, tolerances)) == 1
    assert len(differences("t", FIGURE.drop(columns="name"), FIGURE, tolerances)) == 1
    missing = FIGURE.assign(entropy_mean=[2.0, float("nan")])
    assert len(differences("t", missing, FIGURE, tolerances)) == 1
    assert differences("t", missing, missing, tolerances).empty


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "evidence.csv").unlink(),
        lambda folder: (folder / "verdicts.json").write_text("3"),
        lambda folder: (folder / "verdicts.json").write_text('{"verdicts": [{"claim": "T1"}]}'),
        lambda folder: (folder / "evidence.csv").write_text("claim,cell\nT1,a\n"),
        lambda folder: edit(folder / "evidence.csv", "-1.1", "much"),
        lambda folder: edit(folder / "manifest.json", '"machine"', '"machinery"'),
        lambda folder: edit(folder / "manifest.json", '"evidence.csv"', '"evidenz.csv"'),
        lambda folder: edit(folder / "manifest.json", '"settings": {', '"settings": [], "x": {'),
    ],
)
def test_a_damaged_lock_is_refused(lock, tmp_path, damage):
    write_lock(tmp_path, lock)
    damage(tmp_path)
    with pytest.raises(InputError) as error:
        read_lock(tmp_path)
    assert str(tmp_path) in error.value.message
