"""Bounds of spectral norms against autograd and against values that are known exactly."""

import literal_steps as literal
import numpy as np
import pytest
import torch

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.claims import bounds as claims
from transformer_dynamics.recurrent_attention.figures import bounds as figure
from transformer_dynamics.recurrent_attention.theory import bounds


def norm(matrix):
    return float(torch.linalg.svdvals(matrix)[0])


def everything(case):
    """What the literal formulas read."""
    return {**case.parameters, **case.weights._asdict(), "inputs": case.inputs}


def test_lemma_a_3_is_what_the_formula_says(monkeypatch):
    assert max(claims.jacobian_of_normalisation()["value"]) < 1e-12
    # A formula with wrong signs is seen.
    right = claims.normalisation_jacobian
    monkeypatch.setattr(claims, "normalisation_jacobian", lambda *case: right(*case).abs())
    assert max(claims.jacobian_of_normalisation()["value"]) > 0.1


def test_proposition_5_1_is_what_the_formula_says():
    case = claims.random_case(5, 8, 2, draw=1)
    x, w, heads = case.tokens, everything(case), case.model.heads
    found = bounds.proposition_5_1(*case[1:])
    update = w["inputs"] + literal.msa(x, w, heads)
    radius = float((x + w["eta"] * update).norm(dim=1).min())
    inner = norm(literal.dense(lambda x: literal.msa(x, w, heads), x))
    assert float(found.norm) == pytest.approx(
        norm(literal.dense(lambda x: literal.itrsa(x, w, heads), x)), rel=1e-12
    )
    bound = float(w["gamma"].abs().max()) / radius * (1 + float(w["eta"]) * inner)
    assert float(found.bound) == pytest.approx(bound, rel=1e-12)
    assert float(found.norm) < bound


def test_large_steps_stay_below_their_bound_and_reach_their_limit():
    case = claims.random_case(9, 16, 1, draw=2)
    found = {
        eta: bounds.large_step_bound(*claims.change_eta(case, eta)[1:])
        for eta in (2.0, 10.0, 1e3, 1e6, 1e8)
    }
    assert all(float(each.norm) < float(each.bound) for each in found.values())
    limit = float(bounds.large_step_limit(*case[1:]))
    errors = [abs(float(found[eta].norm) - limit) for eta in (10.0, 1e3, 1e6)]
    assert errors[0] > 50 * errors[1] > 50 * 500 * errors[2]
    w = everything(case)
    update = w["inputs"] + literal.msa(case.tokens, w, 1)
    inner = norm(literal.dense(lambda x: literal.msa(x, w, 1), case.tokens))
    shortest = float(update.norm(dim=1).min())
    expected = float(w["gamma"].abs().max()) * inner / shortest
    assert float(found[1e8].bound) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(InputError, match="needs eta > max"):
        bounds.large_step_bound(*claims.change_eta(case, 0.01)[1:])


def test_attention_bound_fails_as_printed_and_holds_squared():
    """J_00 = (2a + 1)/3 of tokens 0, 1, -1, which is above sqrt(3 (4a + 3)) from 26.75 on."""
    coupled = x, weights, *_ = claims.coupled_tokens(100.0)
    printed = bounds.attention_bound(*coupled, printed=True)
    squared = bounds.attention_bound(*coupled, printed=False)
    jacobian = literal.dense(lambda x: literal.msa(x, weights._asdict(), 1), x)
    assert float(jacobian[0, 0]) == pytest.approx(67, abs=1e-12)
    assert float(printed.norm) == pytest.approx(norm(jacobian), rel=1e-12)
    assert float(printed.norm) == pytest.approx(67.002, abs=1e-3)
    assert float(printed.bound) == pytest.approx(np.sqrt(3 * (100 * 4 + 3)), rel=1e-12)
    assert float(squared.bound) == pytest.approx(np.sqrt(3 * (100**2 * 4 + 3)), rel=1e-12)
    root = 26.75
    assert (2 * root + 1) / 3 == pytest.approx(np.sqrt(3 * (4 * root + 3)), abs=1e-3)
    assert claims.printed_attention_bound()["value"].max() > 6
    assert claims.squared_attention_bound()["value"].max() < 0.25
    growth = claims.excess_over_the_printed_bound()["value"]
    assert growth.iloc[-1] == pytest.approx(10**0.5, rel=0.01)


def test_bound_of_attention_sums_over_heads():
    case = claims.random_case(4, 8, 2, draw=0)
    w = everything(case)
    total = 0.0
    radius = float(case.tokens.norm(dim=1).max())
    for head in (slice(0, 4), slice(4, 8)):
        q, k, v, o = w["query"][:, head], w["key"][:, head], w["value"][:, head], w["output"][head]
        inner = norm(q @ k.T / 2) ** 2 * radius**4 * 5 + 4
        total += (3 * inner) ** 0.5 * norm(o) * norm(v)
    found = bounds.attention_bound(case.tokens, case.weights, 2, 0.5, printed=False)
    assert float(found.bound) == pytest.approx(total, rel=1e-12)


def test_figure_shows_norms_below_bounds_but_for_the_printed_one():
    table = figure.table(figure.Bounds(kind="bounds"))
    assert list(table.columns) == list(figure.Bounds.columns)
    for kind in ("radius", "eta"):
        rows = table[table["kind"] == kind]
        assert (rows["norm"] < rows["printed"]).all()
    derived = table.dropna(subset="corrected")
    assert (derived["norm"] < derived["corrected"]).all()
    coupling = table[table["kind"] == "coupling"].set_index("x")
    above = coupling.index[coupling["norm"] > coupling["printed"]]
    assert 20 < above.min() < 36
    assert above.max() == coupling.index.max()
    eta, limit = (table[table["kind"] == kind]["norm"].iloc[-1] for kind in ("eta", "limit"))
    assert eta == pytest.approx(limit, rel=1e-3)
