"""Numbers that a text types are found and refused; names and formulas are none."""

from pathlib import Path

import pytest
from conftest import ROOT

from replication.base.errors import InputError
from replication.documents import cited
from replication.documents.texts import typed_numbers_in_document, typed_numbers_in_template

DOCUMENTS = [
    path
    for pattern in ("*.md*", "config/*.md*", "docs/*.md*", "docs/*/notes.md*", "src/*/*/*.md*")
    for path in ROOT.glob(pattern)
    # One is generated, and so are those with a template; a history is no result.
    if path.name != "CHANGELOG.md" and not path.with_name(f"{path.name}.jinja").exists()
]


def test_a_number_that_a_template_types_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("README.md.jinja").write_text("# T\n\n{{ n }} of 31 seeds\n")
    with pytest.raises(InputError, match=r"README.md.jinja: the number in '.*' is typed; cite it"):
        cited.refuse_typed_numbers()


@pytest.mark.parametrize(
    "template",
    [
        "Figure 6, Figures 1-6, 8 and 9, Eqs. 10 and 26, Theorem 4, Assumption 1c (erratum E5)",
        "t_0' = K ln M / eta_Y, t_0 = 2(1 + omega_1) K ln M / eta_Y, x_1 to x_T, l_0, WikiText-2",
        "1 - w_d, n - 1, 1/K, f^2, exp(2 B_n(t)), dashes are ln 2 / -ln(1 - eta variance)",
        "{{ n_seeds }} seeds, {{ 'one' if n_seeds < 2 else 'several' }}, one standard deviation",
        "{% set begin = 0.1 %}Above {{ begin }}.",
        "hundreds, {{ -n_seeds }}, {{ n_seeds - 1 }}, Eq. 10, Figures 7 and 10 of it",
    ],
)
def test_names_and_formulas_are_not_typed_numbers(template):
    assert typed_numbers_in_template(template) == []


@pytest.mark.parametrize(
    "template",
    [
        "over 10 seeds", "up to 31 %", "about eta_Y^-0.75", "K = 10", "at ratio 1.", "update 1,500",
        "3 layers", "a 3-layer model", "Eq. 10 at 5", "{% if n_seeds %}31{% endif %}",
        "2 of {{ n_seeds }}", "eta_Z 3", "{{ -n_seeds | number }} 12",
        "Figure 1, 50 seeds", "Figures 1 and 2, 50 seeds",
    ],
)  # fmt: skip
def test_typed_numbers_are_found(template):
    assert len(typed_numbers_in_template(template)) == 1


@pytest.mark.parametrize(
    ("markdown", "typed"),
    [
        ("Python 3.11, plugin 2.8.0, NeurIPS 2023, [arXiv:1609.07843](https://a.org/1)", 0),
        ("`10` and\n```\n11\n```\nand [a](figures/12.png)", 0),
        ("{{ a }} of {{ b | number(2) }}", 0),
        ("{# measured by make benchmark #}\n14 s\n{# end of measured #}", 0),
        ("{# measured by make benchmark #}\n14 s", 1),
        ("1. first\n2. second", 0),
        ("---\nindex: 12\n---\n\nin 31 s", 1),
        ("in 31 s", 1),
        ("{{ a }} and 13", 1),
        ("{% if a %}13{% endif %}", 1),
    ],
)
def test_typed_numbers_of_a_document_are_found(markdown, typed):
    assert len(typed_numbers_in_document(markdown)) == typed


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_types_a_number(path):
    assert typed_numbers_in_document(path.read_text()) == []
