"""The FT ratio by kernel and by products, and its two causes."""

import pytest
import torch
from torch.autograd.functional import hessian

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.theory import ft_ratio, networks, updates


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def setting(name):
    labels = torch.arange(12) % 3
    if name == "transformer":
        tokens = torch.randint(0, 11, (12, 5), generator=random(3))
        return networks.transformer_network(11, 5, 8, 3, random()), tokens, labels
    inputs = torch.randn((12, 5), generator=random(2), dtype=torch.float64)
    return networks.perceptron_network(5, 6, 3, random()), inputs, labels


@pytest.mark.parametrize("name", ["perceptron", "transformer"])
def test_products_give_what_kernels_give(name):
    network, inputs, labels = setting(name)
    slow = ft_ratio.terms_by_kernel(network, inputs, labels)
    fast = ft_ratio.terms_by_products(network.map, network.body, network.head, inputs, labels)
    for exact, found in zip(slow, fast, strict=True):
        assert (found - exact).abs().max() <= 1e-10 * exact.abs().max()
    assert fast.ratio == pytest.approx(slow.ratio, rel=1e-10)
    by_hand = [float(f.norm() / (p + f).norm()) for p, f in zip(*slow, strict=True)]
    assert slow.ratio == pytest.approx(sum(by_hand) / 12, rel=1e-12)


def probe(features, labels, strength):
    """The optimum of ||V||^2/2 + C_reg sum CE by Newton's method on the literal objective."""
    classes, width = 3, features.shape[1]
    point = torch.zeros(classes * (width + 1), dtype=torch.float64)

    def objective(flat):
        weight, bias = flat[: classes * width].view(classes, width), flat[classes * width :]
        loss = torch.nn.functional.cross_entropy(
            features @ weight.T + bias, labels, reduction="sum"
        )
        # The last term holds the common shift of b, which the loss leaves free, at 0.
        return weight.square().sum() / 2 + strength * loss + bias.sum() ** 2

    for _ in range(50):
        gradient = torch.func.grad(objective)(point)
        point = point - torch.linalg.solve(hessian(objective, point), gradient)
    assert gradient.abs().max() < 1e-10
    return Head(point[: classes * width].view(classes, width), point[classes * width :])


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_at_the_optimum_of_the_probe_the_p_term_is_v_phi_over_c(strength):
    network, inputs, labels = setting("perceptron")
    network = network._replace(head=probe(network.features(inputs), labels, strength))
    terms = ft_ratio.terms_by_kernel(network, inputs, labels)
    expected = ft_ratio.optimal_p_term(network.head, network.features(inputs), strength)
    assert (terms.p - expected).abs().max() <= 1e-9 * expected.abs().max()
    delta = updates.prediction_errors(network.logits(inputs), labels)
    assert delta.sum(0).abs().max() < 1e-9


def test_on_other_samples_the_p_term_is_not_small():
    network, inputs, labels = setting("perceptron")
    network = network._replace(head=probe(network.features(inputs), labels, 10.0))
    whole = ft_ratio.terms_by_kernel(network, inputs, labels)
    half = ft_ratio.terms_by_kernel(network, inputs[:6], labels[:6])
    assert half.p.norm(dim=1).mean() > 2 * whole.p.norm(dim=1).mean()


def test_a_longer_head_raises_the_ratio():
    """F grows with the square of the head's length and P does not; so does the ratio, to 1."""
    network, inputs, labels = setting("perceptron")
    head = network.head
    heads = [head._replace(weight=head.weight * (norm / head.norm)) for norm in (0.1, 1.0, 30.0)]
    ratios = [
        ft_ratio.terms_by_kernel(network._replace(head=each), inputs, labels).ratio
        for each in heads
    ]
    assert ratios[0] < 0.05 < ratios[1] < ratios[2]
    assert ratios[2] == pytest.approx(1, abs=0.05)


# Table 2 and 9: ||P||, ||F|| of FT and of LP-FT, and the printed ratios.
TABLE_9 = {
    "CB": (5.10e4, 1.39e4, 7.25e6, 0.1987, 1.0000),
    "RTE": (4.70e4, 1.29e4, 3.80e6, 0.2148, 0.9918),
    "BoolQ": (4.48e4, 1.24e4, 4.46e6, 0.2139, 0.9921),
    "WiC": (4.81e4, 1.45e4, 7.77e7, 0.2216, 0.9996),
}


@pytest.mark.parametrize("name", TABLE_9)
def test_printed_norms_explain_printed_ratios(name):
    p, ft, lp_ft, ratio_ft, ratio_lp_ft = TABLE_9[name]
    assert ft_ratio.ratio_of_norms(p, ft) == pytest.approx(ratio_ft, abs=0.017)
    assert ft_ratio.ratio_of_norms(p, lp_ft) == pytest.approx(ratio_lp_ft, abs=0.008)


# ||F^LoRA|| after LP with the printed ratio of LP-LoRA, where the norms alone say .139 to .228.
@pytest.mark.parametrize(
    ("name", "norm", "printed"),
    [("RTE", 7.60e3, 0.1942), ("BoolQ", 8.56e3, 0.2118), ("WiC", 1.09e5, 0.7454)],
)
def test_ratios_of_adapters_follow_from_those_of_full_fine_tuning(name, norm, printed):
    _, _, lp_ft, _, ratio = TABLE_9[name]
    assert ft_ratio.ratio_of_adapters(ratio, norm / lp_ft) == pytest.approx(printed, abs=0.035)


def test_two_collinear_terms_follow_the_formula_of_adapters():
    direction = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    p, f = 0.3 * direction[None], 0.7 * direction[None]
    full, adapted = ft_ratio.Terms(p, f), ft_ratio.Terms(p, 0.01 * f)
    assert ft_ratio.ratio_of_adapters(full.ratio, 0.01) == pytest.approx(adapted.ratio, rel=1e-12)
