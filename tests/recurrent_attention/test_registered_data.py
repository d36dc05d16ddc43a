"""Every claim takes the tables that its words are about, in their order.

In a world that is as the paper and the findings have it all claims about training hold; where two
conditions change places in a claim that has roles for them it does not.
"""

import pytest
from registered import CLAIMS, SETTINGS, verdict_in
from tables import SEEDS, accuracy, exponents, weights

from replication.study.seeds import seed_list

DRAWS = (1, 2, 3, 4)
"""Numbers of the other draws of boards."""
TWO, LAST = DRAWS[:2], (5, 6)
ACCURACY = {
    # Out of distribution after the loops of training, and after the most.
    "itrsa": (0.30, 0.50),
    "itrsa_n4": (0.20, 0.40),
    "itrsa_n8": (0.20, 0.42),
    "itrsa_n12": (0.22, 0.44),
    "itrsa_n16": (0.24, 0.46),
    "itrsa_n24": (0.26, 0.48),
    "akorn": (0.40, 0.40),
    "akorn_n8": (0.80, 0.80),
    "akorn_n12": (0.50, 0.30),
    "akorn_n16": (0.50, 0.28),
    "akorn_n24": (0.50, 0.26),
    "akorn_n48": (0.50, 0.24),
    "symmetric": (0.05, 0.05),
    "itrsa_unnormalised": (0.00, 0.00),
    "itrsa_spectral": (0.30, 0.60),
    "akorn_spectral": (0.40, 0.72),
    "akorn_n8_spectral": (0.60, 0.62),
    "itrsa_h1": (0.05, 0.08),
    "itrsa_h2": (0.05, 0.10),
    "itrsa_h8": (0.30, 0.61),
    "itrsa_h16": (0.20, 0.30),
    "energy_single": (0.00, 0.00),
    "energy_multi_none": (0.25, 0.30),
    "energy_multi": (0.25, 0.29),
    "energy_multi_weak": (0.20, 0.22),
    "energy_multi_strong": (0.10, 0.15),
    "energy_multi_hard": (0.01, 0.01),
    # With other seeds, and the paper's penalties.
    "itrsa_more": (0.30, 0.50),
    "akorn_more": (0.40, 0.40),
    "itrsa_spectral_paper": (0.30, 0.60),
    "akorn_spectral_paper": (0.40, 0.72),
    "energy_multi_none_tuned": (0.35, 0.40),
    "energy_multi_tuned": (0.35, 0.39),
    "energy_multi_weak_tuned": (0.30, 0.15),
    "energy_multi_strong_tuned": (0.20, -0.1),
    "energy_multi_hard_tuned": (-0.2, -0.3),
    "itrsa_unit": (0.10, 0.16),
    "akorn_unit": (0.30, 0.30),
    "akorn_n8_unit": (0.32, 0.32),
    "akorn_n24_unit": (0.33, 0.20),
    "akorn_n48_unit": (0.33, 0.20),
    # On boards of 6x6.
    "itrsa_6x6": (0.30, 0.50),
    "itrsa_unnormalised_6x6": (0.00, 0.00),
    "akorn_6x6": (0.60, 0.60),
    "symmetric_6x6": (0.05, 0.05),
    # On other draws of boards.
    **{f"itrsa_drawn_{k}": (0.30, 0.50) for k in DRAWS},
    **{f"unnormalised_drawn_{k}": (0.00, 0.00) for k in DRAWS + LAST},
}
INSIDE = {"energy_single": 0.01, "itrsa_unnormalised": 0.6, "itrsa_unnormalised_6x6": 0.6} | {
    f"unnormalised_drawn_{k}": 0.6 for k in DRAWS + LAST
}
"""In distribution, where it is not .9."""
EXPONENTS = {
    # Mean of the leading ones; the largest is by .1 above it.
    "itrsa": 0.0,
    "akorn": 0.02,
    "symmetric": -0.5,
    "itrsa_unnormalised": 0.7,
    "itrsa_h1": -0.3,
    "itrsa_h2": -0.3,
    "itrsa_h8": 0.1,
    "itrsa_h16": -0.1,
    "energy_multi_none": -0.1,
    "energy_multi": -0.2,
    "energy_multi_weak": -0.3,
    "energy_multi_strong": -0.4,
    "energy_multi_hard": -0.6,
    "energy_multi_none_tuned": -0.1,
    "energy_multi_tuned": -0.2,
    "energy_multi_weak_tuned": -0.4,
    "energy_multi_strong_tuned": -0.5,
    "energy_multi_hard_tuned": -0.7,
    "itrsa_untrained": -0.6,
    "akorn_untrained": 0.2,
    "symmetric_untrained": -0.4,
    "itrsa_unit": 0.0,
    "akorn_unit": 0.1,
    "itrsa_6x6": 0.0,
    "itrsa_unnormalised_6x6": 0.7,
    "akorn_6x6": 0.02,
    "symmetric_6x6": -0.5,
    **{f"itrsa_drawn_{k}": 0.0 for k in DRAWS},
    **{f"akorn_drawn_{k}": 0.02 for k in DRAWS},
    **{f"unnormalised_drawn_{k}": 0.7 for k in DRAWS},
    **{f"itrsa_untrained_drawn_{k}": -0.6 for k in DRAWS[:2]},
    **{f"unnormalised_untrained_drawn_{k}": 0.8 for k in DRAWS[:2]},
    **{f"itrsa_spectral_drawn_{k}": -0.1 for k in DRAWS[:2]},
    **{f"akorn_spectral_drawn_{k}": -0.1 for k in DRAWS[:2]},
}
WEIGHTS = {
    # Largest gamma, and the asymmetry of heads; that of their sum is .1.
    **dict.fromkeys(["itrsa", *(f"itrsa_n{n}" for n in (4, 8, 12, 16, 24))], (0.8, 0.1)),
    **dict.fromkeys(["energy_multi_weak", "energy_multi_strong"], (1.2, 1.2)),
    # Norms are as far above 1 as gamma above 0.
    **{f"{kind}_drawn_{k}": (2.0, 1.2) for kind in ("itrsa", "akorn") for k in DRAWS[:2]},
    **{f"{kind}_spectral_drawn_{k}": (0.5, 1.2) for kind in ("itrsa", "akorn") for k in DRAWS[:2]},
}


def seeds_of(name):
    """As many as are judged on the boards of a condition."""
    own = SETTINGS.experiments[name].boards
    return seed_list(SETTINGS.more_boards[own].seeds) if own else SEEDS


WORLD = (
    {
        (name, "accuracy"): accuracy(name, *shares, seeds_of(name), inside=INSIDE.get(name, 0.9))
        for name, shares in ACCURACY.items()
    }
    | {
        (name, "exponents"): exponents(name, mean, seeds_of(name), spread=0.02)
        for name, mean in EXPONENTS.items()
    }
    | {
        (name, "weights"): weights(name, largest, seeds_of(name), heads=heads)
        for name, (largest, heads) in WEIGHTS.items()
    }
)
OTHER_WORLDS = {
    # J27 is about a larger lead, and without normalisation boards in distribution are solved.
    "J32": {
        (name, "accuracy"): accuracy(name, 0.0, 0.0, seeds_of(name), inside=0.01)
        for name in (f"unnormalised_drawn_{k}" for k in LAST)
    },
    "J14c": {("akorn_n8", "accuracy"): accuracy("akorn_n8", 0.42, 0.42)},
}
"""What is otherwise where a claim holds."""


def drawn(*names, draws=DRAWS):
    """These conditions on draws of boards, draw by draw."""
    return " ".join(f"{name}_drawn_{k}" for k in draws for name in names)


READ = {
    # Conditions as the words of claims name them, and the claims.
    "token_norms": "J7 J7a J7b J7c J7d",
    "itrsa": "J8a J25a J25b",
    drawn("itrsa", "unnormalised", draws=LAST): "J8b",
    drawn("itrsa", "unnormalised"): "J9 J30 J31 J31a",
    "itrsa akorn": "J11a J11b",
    drawn("itrsa", "akorn"): "J10a",
    "akorn itrsa itrsa_unnormalised symmetric": "J33 J33a J33b",
    drawn("akorn", "itrsa", "unnormalised", "symmetric", draws=TWO): "J10b J10e",
    " ".join(drawn(kind, f"{kind}_spectral", draws=TWO) for kind in ("itrsa", "akorn")): "J36 J36a",
    "symmetric": "J12a",
    "symmetric itrsa akorn": "J12b J12c",
    "itrsa_n4 itrsa_n8 itrsa_n12 itrsa_n16 itrsa_n24 itrsa": "J13 J13a J15",
    "akorn akorn_n8 akorn_n12 akorn_n16 akorn_n24 akorn_n48": "J14a",
    "akorn_n12 akorn_n16 akorn_n24 akorn_n48 itrsa_n12 itrsa_n16 itrsa_n24 itrsa": "J14b",
    "akorn akorn_n8 itrsa_n4 itrsa_n8": "J14c",
    "itrsa_more energy_multi_tuned": "J16a",
    "itrsa energy_single": "J16f",
    "energy_single": "J16b J16e",
    "itrsa energy_multi_none energy_multi": "J16c",
    "energy_multi energy_multi_none": "J16d",
    "itrsa_more itrsa_spectral_paper akorn_more akorn_spectral_paper": "J17a J17b",
    "itrsa itrsa_spectral akorn akorn_spectral": "J17c J17d",
    "itrsa_h1 itrsa_h2 itrsa itrsa_h8 itrsa_h16": "J18a J18b J19 J19a J29 J29a",
    "energy_multi_tuned energy_multi_weak_tuned energy_multi_strong_tuned": "J20a J20b J20g",
    "itrsa_more energy_multi_none_tuned": "J20c",
    (
        "energy_multi_hard_tuned energy_multi_none_tuned energy_multi_tuned"
        " energy_multi_weak_tuned energy_multi_strong_tuned"
    ): "J20d J20e",
    "energy_multi_weak energy_multi_strong": "J20f",
    "akorn": "J21 J22 J23b J25c",
    "akorn_more akorn_votes": "J26 J26b J26c",
    drawn("akorn"): "J21b J23 J23c J24b J24c",
    "akorn_untrained akorn": "J21c J21d",
    "itrsa_untrained itrsa akorn_untrained akorn": "J11c",
    "akorn_untrained": "J11d",
    "symmetric_untrained": "J12d",
    drawn("itrsa_untrained", "unnormalised_untrained", draws=TWO): "J30a",
    "akorn_unit akorn": "J34",
    "akorn_unit akorn_n8_unit akorn_n24_unit akorn_n48_unit": "J34a",
    "itrsa_unit": "J34b",
    "akorn_unit itrsa_unit": "J34c",
    "itrsa_unit akorn_unit": "J34d",
    "itrsa_6x6 itrsa_unnormalised_6x6": "J35 J35a J35b",
    "itrsa_6x6": "J35c",
    "itrsa_6x6 akorn_6x6": "J35d",
    "symmetric_6x6": "J35e",
    "symmetric_6x6 itrsa_6x6 akorn_6x6": "J35f",
    "akorn_6x6 itrsa_6x6": "J35g",
    "akorn_6x6": "J35h",
    "akorn_n8 itrsa energy_single energy_multi itrsa_spectral": "J27",
    drawn("unnormalised", draws=LAST): "E13 J32",
}
TRAINED = {"accuracy", "exponents", "weights"}
TOLD = [
    number
    for number, claim in CLAIMS.items()
    if claim.data and {item.metric for item in claim.data} <= TRAINED
]


def test_every_claim_reads_the_conditions_of_its_words():
    found = {
        number: " ".join(dict.fromkeys(item.experiment for item in claim.data))
        for number, claim in CLAIMS.items()
        if claim.data
    }
    assert found == {number: names for names, claims in READ.items() for number in claims.split()}


@pytest.mark.parametrize("number", TOLD)
def test_claims_about_training_hold_where_they_should(number):
    assert verdict_in(number, WORLD | OTHER_WORLDS.get(number, {})) == "replicated"


def swapped(metric, first, second):
    """A world in which two conditions on 6x6 have each other's numbers."""
    names = f"{first}_6x6", f"{second}_6x6"
    return {
        (name, metric): WORLD[name, metric]._replace(table=WORLD[other, metric].table)
        for name, other in zip(names, names[::-1], strict=True)
    }


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        ("J35", swapped("accuracy", "itrsa", "itrsa_unnormalised")),
        ("J35a", swapped("exponents", "itrsa", "itrsa_unnormalised")),
        ("J35c", {("itrsa_6x6", "accuracy"): accuracy("itrsa_6x6", 0.5, 0.3, range(1, 6))}),
        (
            "J35d",
            {
                (name, "exponents"): exponents(name, 0.7, range(1, 6))
                for name in ("itrsa_6x6", "akorn_6x6")
            },
        ),
        ("J35e", {("symmetric_6x6", "exponents"): exponents("symmetric_6x6", 0.1, range(1, 6))}),
        (
            "J35f",
            {("symmetric_6x6", "accuracy"): accuracy("symmetric_6x6", 0.7, 0.7, range(1, 6))},
        ),
        ("J35g", swapped("accuracy", "itrsa", "akorn")),
    ],
)
def test_claims_about_6x6_turn_when_their_data_do(number, changes):
    assert verdict_in(number, WORLD | changes) == "does not hold"
