"""Claims on accuracy: tables that say the opposite turn their verdicts."""

import pytest
from claim_tables import means, said, trained, verdict

from replication.base.errors import UnmeasurableError

SPLITS = {
    "cb": ["validation", "test"],
    "trec6": ["validation", "test"],
    "cola": ["validation", "test"],
    "cr": ["validation", "test", "sst2_sentences"],
}


def accuracy(matthews=0.5, sets=SPLITS, elsewhere=None, **by_method):
    """Accuracy by method, out of distribution another one if given; of validation it is turned."""
    return trained(
        *(
            {"texts": name, "split": split, "method": method,
             "values": {"accuracy": 1 - value if split == "validation" else
                        (elsewhere or by_method)[method] if split == "sst2_sentences" else value,
                        "matthews": matthews * value}}
            for name in sets
            for split in SPLITS[name]
            for method, value in by_method.items()
        ),
        spread=0.002,
    )  # fmt: skip


def test_gains():
    values = {"ft": 0.80, "lp_ft": 0.86, "lora": 0.78, "lp_lora": 0.84}
    honest = accuracy(**values)
    assert means("L16a", honest) == {
        "TREC-6: LP-FT minus FT": pytest.approx(0.06),
        "CoLA: LP-FT minus FT": pytest.approx(0.03),
        "CR: LP-FT minus FT": pytest.approx(0.06),
    }
    assert means("L16b", honest) == {"CR to SST-2 sentences: LP-FT minus FT": pytest.approx(0.06)}
    assert means("L16c", honest)["CR: LP-LoRA minus LoRA"] == pytest.approx(0.06)
    for claim in ("L16a", "L16b", "L16c"):
        assert verdict(claim, honest) == "replicated"
    turned = accuracy(ft=0.86, lp_ft=0.80, lora=0.84, lp_lora=0.78)
    for claim in ("L16a", "L16b", "L16c"):
        assert said(claim, turned) == {"fails"}
    same = accuracy(ft=0.8, lp_ft=0.8, lora=0.8, lp_lora=0.8)
    for claim in ("L16a", "L16b", "L16c", "L16f"):
        assert said(claim, same) == {"none"}
    probed = accuracy(lp=0.70, lp_ft=0.86, lora=0.78)
    assert means("L16d", probed)["CoLA: LP-FT minus LP"] == pytest.approx(0.08)
    assert means("L16e", probed) == {"CR to SST-2 sentences: LP-FT minus LP": pytest.approx(0.16)}
    assert means("L16f", probed)["CR: LP-FT minus LoRA"] == pytest.approx(0.08)
    for claim in ("L16d", "L16e", "L16f"):
        assert verdict(claim, probed) == "replicated"
        assert said(claim, accuracy(lp=0.86, lp_ft=0.78, lora=0.86)) == {"fails"}


def test_gains_of_the_larger_encoder():
    honest = accuracy(sets=["cola", "cr"], lp=0.7, ft=0.80, lp_ft=0.86)
    assert means("L16g", honest)["CoLA: LP-FT minus FT"] == pytest.approx(0.03)
    assert means("L16h", honest) == {"CR to SST-2 sentences: LP-FT minus FT": pytest.approx(0.06)}
    assert means("L16i", honest)["CoLA: LP-FT minus LP"] == pytest.approx(0.08)
    assert means("L16j", honest) == {"CR to SST-2 sentences: LP-FT minus LP": pytest.approx(0.16)}
    turned = accuracy(sets=["cola", "cr"], lp=0.86, ft=0.86, lp_ft=0.80)
    for claim in ("L16g", "L16h", "L16i", "L16j"):
        assert verdict(claim, honest) == "replicated"
        assert said(claim, turned) == {"fails"}


def test_distributions_are_kept_apart():
    apart = accuracy(elsewhere={"ft": 0.9, "lp_ft": 0.7}, ft=0.80, lp_ft=0.86)
    assert (verdict("L16a", apart), verdict("L16b", apart)) == ("replicated", "does not hold")


def test_small_sets_are_not_judged():
    with pytest.raises(UnmeasurableError, match="has 500 samples"):
        verdict("L16a", accuracy(sets=["cb"], ft=0.8, lp_ft=0.9))
    with pytest.raises(UnmeasurableError, match="has 500 samples"):
        verdict("L16b", accuracy(sets=["cb", "trec6"], ft=0.8, lp_ft=0.9))
