"""Claims on norms: tables that say the opposite turn their verdicts."""

import math

import pandas as pd
import pytest
from claim_tables import SEEDS, judged, means, measured_by, said, trained, verdict, without

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured

SETS = ("cb", "trec6", "cr")


def norms(**ends):
    """||V|| from .7 to what is given, by method, on three sets and one more test set."""
    return trained(
        *(
            {"texts": name, "method": method, "split": split,
             "values": {"start_norm": 0.7, "norm": end}}
            for name in SETS
            for method, end in ends.items()
            for split in (["test", "sst2_sentences"] if name == "cr" else ["test"])
        )
    )  # fmt: skip


def test_growth_of_probing():
    honest = norms(lp=16.0, ft=0.75, lora=0.9, lp_ft=16.0)
    found = means("L5a", honest)
    assert len(found) == 6
    assert found["TREC-6: LP minus FT"] == pytest.approx(math.log(16 / 0.75), abs=0.05)
    assert found["CR: LP minus LoRA"] == pytest.approx(math.log(16 / 0.9), abs=0.05)
    assert verdict("L5a", honest) == "replicated"
    assert verdict("L5a", norms(lp=0.3, ft=0.75, lora=0.7)) == "does not hold"
    assert verdict("L5a", norms(lp=0.8, ft=0.75, lora=0.7)) == "does not hold"
    # A set in which probing shortens the head is held against it, but not CB, which is too small.
    for name, expected in (("cb", "replicated"), ("cr", "in part")):
        table = honest.table.copy()
        table.loc[(table["texts"] == name) & (table["method"] == "lp"), "norm"] /= 50
        assert verdict("L5a", Measured(table, None)) == expected
    assert {each.cell for each in judged("L5a", honest).counted} == {
        f"{name}: LP minus {method}" for name in ("TREC-6", "CR") for method in ("FT", "LoRA")
    }


def test_growth_by_probing():
    honest = norms(lp=16.0, ft=0.75)
    assert means("L5c", honest) == {
        f"{name}: LP": pytest.approx(math.log(16 / 0.7), abs=0.05)
        for name in ("CB", "TREC-6", "CR")
    }
    assert verdict("L5c", honest) == "replicated"
    assert said("L5c", norms(lp=0.3)) == {"fails"}
    assert said("L5c", norms(lp=0.8)) == {"none"}


def test_what_is_missing_is_said():
    honest = norms(lp=16.0, ft=0.75, lora=0.9)
    with pytest.raises(UnmeasurableError, match="unknown value of called 'LoRA'; known"):
        verdict("L5a", without(honest, method="lora"))
    rows = honest.table
    dropped = rows[~((rows["seed"] == 3) & (rows["method"] == "ft"))]
    with pytest.raises(UnmeasurableError, match="different seeds"):
        verdict("L5a", Measured(dropped, None))
    twice = pd.concat([rows, rows[rows["method"] == "ft"].assign(rate=1.0)])
    with pytest.raises(UnmeasurableError, match="a seed has several values"):
        verdict("L5a", Measured(twice, None))
    with pytest.raises(UnmeasurableError, match="there is no row where split"):
        verdict("L5a", Measured(rows[:0], None))


def along(**factors):
    """||V|| along three steps, the last so many times as long as the first, shuffled."""
    rows = [
        {"texts": name, "method": method, "step": step,
         "values": {"norm": 0.7 * factor ** (step / 2), "falling": 0.95}}
        for name in SETS
        for method, factor in factors.items()
        for step in (0, 1, 2)
    ]  # fmt: skip
    measured = trained(*rows, spread=1e-4)
    return Measured(measured.table.sample(frac=1, random_state=0), None)


def test_growth_along_training():
    honest = along(lp=20.0, ft=1.01, lora=1.3)
    found = means("L5b", honest)
    assert found["CB: FT"] == pytest.approx(math.log(1.01), abs=1e-3)
    assert len(found) == 9
    assert verdict("L5b", honest) == "replicated"
    assert verdict("L5b", along(lp=20.0, ft=0.99, lora=1.3)) == "in part"
    assert said("L5b", along(lp=20.0, ft=0.99, lora=1.3)) == {"holds", "fails"}
    # What diverged at the end did not grow by what it had before.
    table = honest.table
    of_last = (table["step"] == 2) & (table["seed"] == 1) & (table["method"] == "ft")
    lost = measured_by("L5b", Measured(table.assign(norm=table["norm"].mask(of_last)), None))
    is_ft = lost["cell"].str.endswith("FT")
    assert lost.loc[is_ft & (lost["seed"] == 1), "value"].isna().all()
    assert lost["value"].isna().sum() == len(SETS)
    twice = pd.concat([table, table.assign(rate=1.0)])
    with pytest.raises(UnmeasurableError, match="several runs of a seed"):
        verdict("L5b", Measured(twice, None))


@pytest.mark.parametrize(("share", "said"), [(0.97, "replicated"), (0.6, "does not hold")])
def test_rows_that_grow(share, said):
    rows = [
        {"texts": name, "method": method, "step": step, "values": {"falling": value}}
        for name in SETS
        for step, early in ((0, -0.02), (1, 0.02))
        for method, value in (("lp", share + early), ("ft", math.nan))
    ]
    measured = trained(*rows)
    assert means("L4b", measured) == {
        name: pytest.approx(share, abs=1e-9) for name in ("CB", "TREC-6", "CR")
    }
    assert verdict("L4b", measured) == said
    assert len(SEEDS) == 5


def halves(**factors):
    """Along eight steps: ||b|| and ||f(x)|| by powers of what is given, 1/loss too."""
    rows = [
        {"texts": name, "method": method, "step": step,
         "values": {"bias_norm": 0.01 * step * factor ** (step / 8),
                    "logit_norm": 2 * factor ** (step / 8) * known,
                    "loss": factor ** (-step / 8) * known}}
        for name in SETS
        for method, factor in factors.items()
        for step in range(9)
        for known in [1.0 if step < 8 or method == "lp" else math.nan]
    ]  # fmt: skip
    return Measured(trained(*rows, spread=1e-4).table.sample(frac=1, random_state=0), None)


def test_growth_of_bias_and_logits():
    honest = halves(lp=8.0, ft=2.0, lora=4.0, lp_ft=0.5)
    found = means("L5d", honest)
    assert len(found) == 3 * 3 * 3
    # Steps 1 to 4, and 5 to 8; of batches there is none at 8.
    first, second = (sum(2 ** (step / 8) for step in own) for own in (range(1, 5), range(5, 8)))
    expected = math.log(second / 3) - math.log(first / 4)
    assert found["TREC-6: FT, logits"] == pytest.approx(expected, abs=1e-3)
    assert found["TREC-6: LP, logits"] == pytest.approx(math.log(8) / 2, abs=1e-3)
    assert found["CR: LP, loss"] == pytest.approx(math.log(8) / 2, abs=1e-3)
    assert found["CR: LoRA, bias"] > math.log(4) / 2
    assert verdict("L5d", honest) == "replicated"
    assert said("L5d", halves(lp=8.0, ft=0.1, lora=4.0)) == {"holds", "fails"}
    with pytest.raises(UnmeasurableError, match="there is no LoRA"):
        verdict("L5d", without(honest, method="lora"))
    # What diverged on the way did not grow by what it had before.
    table = honest.table
    lost = (table["step"] == 6) & (table["seed"] == 1) & (table["method"] == "ft")
    spoilt = measured_by("L5d", Measured(table.assign(loss=table["loss"].mask(lost)), None))
    is_loss = spoilt["cell"].str.endswith("FT, loss") & (spoilt["seed"] == 1)
    assert spoilt.loc[is_loss, "value"].isna().all()
    assert spoilt["value"].isna().sum() == len(SETS)
