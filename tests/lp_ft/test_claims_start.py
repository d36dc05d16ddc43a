"""Claims on the start of fine-tuning: tables that say the opposite turn their verdicts."""

import math

import pandas as pd
import pytest
from claim_tables import means, of_set, trained, verdict

from replication.base.errors import UnmeasurableError

SETS = ("cb", "trec6", "cr")
ALL_AND_SOME = [f"{name}, {part}" for name in ("CB", "TREC-6", "CR")
                for part in ("all samples", "a subset")]  # fmt: skip
PROBE, RANDOM = ("probe", "probe"), ("random", "random")
LONG_RANDOM, SHORT_PROBE = ("random", "probe"), ("probe", "random")


LENGTHS = {PROBE: 16.0, RANDOM: 1.0, LONG_RANDOM: 16.0, SHORT_PROBE: 1.0}


def heads(samples=("all", "subset"), sets=SETS, **columns):
    """Columns by head; each is a number, or one by samples. Probes are long if nothing is said."""
    columns = {"head_norm": LENGTHS} | columns
    found = []
    for name in sets:
        rows = [
            {"direction": head[0], "norm": head[1], "samples": part,
             "values": {
                 column: by_head[head][part] if isinstance(by_head[head], dict) else by_head[head]
                 for column, by_head in columns.items()
             }}
            for head in (PROBE, RANDOM, LONG_RANDOM, SHORT_PROBE)
            for part in samples
        ]  # fmt: skip
        found.append(of_set(name, *rows))
    return found


def ratios(probe, random, long_random, short_probe):
    return heads(ft_ratio={
        PROBE: probe, RANDOM: random, LONG_RANDOM: long_random, SHORT_PROBE: short_probe,
    })  # fmt: skip


def test_ratios_of_heads():
    honest = ratios(probe=0.999, random=0.4, long_random=0.99, short_probe=0.45)
    assert means("L10b", *honest) == {name: pytest.approx(0.599, abs=1e-6) for name in ALL_AND_SOME}
    assert [*means("B1d", *honest).values()] == pytest.approx([0.99] * 6)
    assert [*means("B1e", *honest).values()] == pytest.approx([0.05] * 6)
    for claim in ("L10b", "B1d", "B1e"):
        assert verdict(claim, *honest) == "replicated"
    # It is all the direction's.
    other = ratios(probe=0.999, random=0.4, long_random=0.4, short_probe=0.99)
    assert verdict("L10b", *other) == "replicated"
    assert verdict("B1d", *other) == verdict("B1e", *other) == "does not hold"
    turned = ratios(probe=0.4, random=0.9, long_random=0.9, short_probe=0.4)
    assert verdict("L10b", *turned) == "does not hold"
    with pytest.raises(UnmeasurableError, match="no condition to measure"):
        verdict("L10b")


def lengths(probe):
    return {PROBE: probe, RANDOM: 1.0, LONG_RANDOM: probe, SHORT_PROBE: 1.0}


def test_what_is_said_of_long_heads_is_judged_where_the_probe_is_long():
    """On CB the probe is half as long as the random head, on CR one and a half times."""
    found = {
        column: dict(zip((PROBE, RANDOM, LONG_RANDOM, SHORT_PROBE), values, strict=True))
        for column, values in (
            ("ft_ratio", (0.93, 0.38, 0.99, 0.4)),
            ("feature_change", (40.0, 10.0, 1.0, 1.0)),
            ("logit_change", (4000.0, 100.0, 1.0, 1.0)),
        )
    }
    tables = [
        *heads(sets=["trec6"], **found),
        *heads(sets=["cb"], head_norm=lengths(0.5), **found),
        *heads(sets=["cr"], head_norm=lengths(1.5), **found),
    ]
    for claim in ("B1d", "B1e", "B6a", "B6b"):
        assert [*means(claim, *tables)] == ["TREC-6, all samples", "TREC-6, a subset"]
        assert verdict(claim, *tables) == "replicated"
        with pytest.raises(UnmeasurableError, match="no probe is 2 times as long"):
            verdict(claim, *tables[1:])
    tables[2].job.long_probe = 1.4
    assert [*means("B1d", *tables)][2:] == ["CR, all samples", "CR, a subset"]
    assert len(means("L10b", *tables)) == 6


def p_terms(probe, long_random):
    return heads(p_term={
        PROBE: dict(zip(("all", "subset"), probe, strict=True)), RANDOM: 100.0, SHORT_PROBE: 100.0,
        LONG_RANDOM: dict(zip(("all", "subset"), long_random, strict=True)),
    })  # fmt: skip


def test_p_terms():
    honest = p_terms(probe=(2.5, 50.0), long_random=(1000.0, 400.0))
    assert means("B1f", *honest)["CB"] == pytest.approx(math.log(20), abs=0.02)
    assert means("B1g", *honest)["CB"] == pytest.approx(math.log(0.4), abs=0.02)
    assert verdict("B1f", *honest) == verdict("B1g", *honest) == "replicated"
    # A probe that is not at its optimum has a P term like any other head.
    other = p_terms(probe=(1000.0, 400.0), long_random=(2.5, 50.0))
    assert verdict("B1f", *other) == verdict("B1g", *other) == "does not hold"


def first_steps(features, logits):
    """Changes from the probe and from the random head."""
    others = {LONG_RANDOM: 1.0, SHORT_PROBE: 1.0}
    columns = {
        column: dict(zip((PROBE, RANDOM), pair, strict=True)) | others
        for column, pair in (("feature_change", features), ("logit_change", logits))
    }
    return heads(**columns)


def test_first_steps():
    honest = first_steps(features=(40.0, 10.0), logits=(4000.0, 100.0))
    assert means("B6a", *honest) == {
        name: pytest.approx(math.log(4), abs=0.02) for name in ALL_AND_SOME
    }
    assert means("B6b", *honest) == {
        name: pytest.approx(-math.log(10), abs=0.02) for name in ALL_AND_SOME
    }
    assert verdict("B6a", *honest) == verdict("B6b", *honest) == "replicated"
    other = first_steps(features=(10.0, 40.0), logits=(100.0, 4000.0))
    assert verdict("B6a", *other) == verdict("B6b", *other) == "does not hold"


def deltas(ft, lp_ft):
    return trained(
        *(
            {"texts": name, "method": method, "values": {"delta": value}}
            for name in SETS
            for method, value in (("lp", ft), ("ft", ft), ("lp_ft", lp_ft))
        )
    )


def test_smaller_errors():
    found = means("L20", deltas(0.8, 0.2))
    assert found["CB: FT minus LP-FT"] == pytest.approx(math.log(4), abs=0.02)
    assert verdict("L20", deltas(0.8, 0.2)) == "replicated"
    assert verdict("L20", deltas(0.2, 0.8)) == "does not hold"


def rows(ft, lp_ft):
    """Mean cosines with the random head, of two rows that differ."""
    found = trained(
        *(
            {"texts": name, "method": method, "row": row,
             "values": {"random_cosine": mean + shift}}
            for name in SETS
            for method, mean in (("ft", ft), ("lp_ft", lp_ft))
            for row, shift in ((0, -0.005), (1, 0.005))
        ),
        spread=0.001,
    )  # fmt: skip
    assert isinstance(found.table, pd.DataFrame)
    return found


def test_rows():
    honest = rows(ft=0.99, lp_ft=0.05)
    assert means("L18a", honest) == {
        f"{name}: FT": pytest.approx(0.99) for name in ("CB", "TREC-6", "CR")
    }
    assert means("L18b", honest)["CB: LP-FT"] == pytest.approx(0.05)
    for claim in ("L18a", "L18b"):
        assert verdict(claim, honest) == "replicated"
    other = rows(ft=0.7, lp_ft=0.9)
    for claim in ("L18a", "L18b"):
        assert verdict(claim, other) == "does not hold"
