"""Texts cite their numbers, say what they cannot cite, and type none."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import JOBS, ROOT

from replication.base.errors import InputError
from replication.documents import cited, generate
from replication.documents.checklist import StudyResults
from replication.documents.cited import fill_document
from replication.documents.figure_texts import CitedFigure
from replication.documents.generate import check_texts
from replication.documents.typed_numbers import typed_numbers_in_document, typed_numbers_in_template
from replication.judge.citation import fill_template
from replication.judge.scorecard_figure import table_of_verdicts
from replication.judge.verdicts import Verdict
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.report.captions import Captions
from replication.study.registry import SCORECARD, Abstract, FigureText, Sentence
from replication.study.studies import find_studies
from replication.verify.reference import (
    figure_path,
    find_references,
    read_reference,
    reference_folder,
)

TABLE = pd.DataFrame({"rate": [0.5, 0.5, 1.0], "seed": [1, 2, 1], "mean": [0.1234, 0.1234, 12.0]})
FIGURES = [(study, name) for study in find_references(ROOT) for name in JOBS.studies[study].figures]
DOCUMENTS = [
    path
    for pattern in ("*.md*", "config/*.md*", "docs/*.md*", "docs/*/notes.md*", "src/*/*/*.md*")
    for path in ROOT.glob(pattern)
    # One is generated, and so are those with a template; a history is no result.
    if path.name not in {"configuration.md", "CHANGELOG.md"}
    and not path.with_name(f"{path.name}.jinja").exists()
]


def shown(table=TABLE, **changes):
    """A figure of that table."""
    found = {
        "study": "paper", "name": "fig1", "settings": {"figures": {"fig1": {"seed": 3}}},
        "n_seeds": 10, "table": table, "find_verdict": {}.get,
    }  # fmt: skip
    return CitedFigure(**(found | changes))


def text(caption):
    return FigureText(label="L", title="T", drawn="A curve.", caption=caption)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{{ cell(table, "mean", rate=0.5) | number(2) }}', "0.12"),
        ('{{ cell(table, "mean", rate=0.5) | percent(3) }}', "12.3 %"),
        ("{{ rows(table, seed=[1], rate=1).mean() | length }}", "3"),
        ("{{ table.rate | span }} and {{ table.seed | numbers }}", "0.5 to 1 and 1, 2, 1"),
        ("{{ rows(table, rate=1).rate | span }}", "1"),
        ("{{ table.seed.nunique() | words }} of {{ 1500 | words }}", "two of 1,500"),
        ("seed {{ figure.seed }} of {{ n_seeds }}", "seed 3 of 10"),
        ("{% set top = table['mean'].max() %}\n  {{ top | number }}.", "12."),
    ],
)
def test_a_caption_cites_its_table_and_settings(template, expected):
    assert shown().cite(text(template)).caption == expected


def test_a_caption_calls_values_as_the_study_does():
    found = shown(names={"cr": "CR"}).cite(text('{{ called("cr") }} and {{ called("subj") }}'))
    assert found.caption == "CR and subj"


def test_a_caption_cites_a_verdict():
    verdict = Verdict(claim="T1", verdict="verified", summary="All.", seeds=10, comparisons=[])
    template = '{{ verdict("T1").verdict }} by {{ verdict("T1").seeds }}'
    found = shown(find_verdict={"T1": verdict}.get)
    assert found.cite(text(template)).caption == "verified by 10"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ('{{ cell(table, "mean", rate=2) }}', "no row has rate 2; there is 0.5, 1.0"),
        ('{{ cell(table, "mean") }}', "mean has 2 values in all rows; say which one"),
        ('{{ cell(table, "meen", rate=1) }}', "unknown column 'meen'; did you mean 'mean'?"),
        ('{{ cell(table, "mean", rat=1) }}', "unknown column 'rat'; did you mean 'rate'?"),
        ("{{ table.seeds.max() }}", "unknown column 'seeds'; did you mean 'seed'?"),
        ("{{ tabel.seed.max() }}", "'tabel' is undefined"),
        ("{{ figure.sed }}", "'dict object' has no attribute 'sed'"),
        ('{{ verdict("T9").verdict }}', "there is no verdict on claim T9"),
        ("{{ table.seed.max( }}", "unexpected '}'"),
        ("{{ table.to_csv('x.csv') }}", "access to attribute 'to_csv' of 'DataFrame' object is"),
        ("{{ table.eval('seed') }}", "access to attribute 'eval' of 'DataFrame' object is unsafe"),
        ("{{ ''.__class__.mro() }}", "access to attribute '__class__' of 'str' object is unsafe"),
    ],
)
def test_what_cannot_be_cited_is_named(tmp_path, monkeypatch, template, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        shown().cite(text(template))
    assert error.value.message.startswith("paper: figure fig1: caption: cannot be cited: ")
    assert message in error.value.message
    assert "\n" not in error.value.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "template",
    [
        """table.agg("eval", expr="@inspect.os.system('id > x')")""",
        "table.agg('to_csv', path_or_buf='x')", "table.groupby('seed').agg('to_csv', 'x')",
        "table.groupby('seed').rate.agg(['to_csv'])", "table.apply('to_csv', path_or_buf='x')",
        "table.transform('to_pickle', path='x')", "table.style.to_html('x')",
        "table.values.tofile('x')", "table.rate.iloc[0].tofile('x')", "table.rate.map(range)",
        "table.pipe(range)", "table.query('seed > 1')", "table['eval']('seed')",
        "(table | attr('to_csv'))('x')", "([table] | map(attribute='to_csv') | first)('x')",
        "'{0.style}'.format(table)", "table.pop('rate')", "table.update(table)",
        "table.insert(0, 'a', 1)", "table.columns.values.max(none, table.columns.values)",
        "verdict('T1').parse_file('x')", "verdict('T1').model_dump()", "rows.__globals__",
        "lipsum(n=100000)",
    ],
)  # fmt: skip
def test_no_text_writes_or_runs_code(tmp_path, monkeypatch, template):
    monkeypatch.chdir(tmp_path)
    table = TABLE.copy()
    verdict = Verdict(claim="T1", verdict="verified", summary="All.", seeds=10, comparisons=[])
    with pytest.raises(InputError, match=r"unsafe|unknown|undefined"):
        shown(table, find_verdict={"T1": verdict}.get).cite(text(f"{{{{ {template} }}}}"))
    pd.testing.assert_frame_equal(table, TABLE)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_what_a_text_does_to_a_table_no_other_sees():
    table = TABLE.copy()
    template = (
        "{% set gone = table.drop(columns='rate', inplace=true) %}{{ table.columns | length }}"
    )
    figure = shown(table)
    assert [figure.cite(text(template)).caption for _ in range(2)] == ["2", "2"]
    assert [fill_template(template, "a", {"table": table}) for _ in range(2)] == ["2", "2"]
    pd.testing.assert_frame_equal(table, TABLE)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ cell(1, 'mean') }}", "argument of type 'int' is not"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "maximum recursion depth exceeded"),
        ("{{ 'a' * 9223372036854775000 }}", "* is for numbers only"),
        ("{{ 'a'.join(1) }}", "can only join an iterable"),
        ("{{ cell(1, 'mean', rate=1) }}", "is not iterable"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
         "a loop over 99999 numbers is longer than 1000"),
        ("{{ 10.0 ** 400 }}", "Numerical result out of range"),
        ("{{ table.rate.max }}", "max is a method without its brackets"),
        ("{{ table.mean }}", "mean is a method without its brackets; a column is table['mean']"),
        ("{{ table.rate }}", "a Series is neither text nor a number"),
        ("{{ table.loc }}", "a _LocIndexer is neither text nor a number"),
        ("{{ none }}", "a NoneType is neither text nor a number"),
    ],
)  # fmt: skip
def test_whatever_fails_is_one_sentence(template, message):
    with pytest.raises(InputError) as error:
        shown().cite(text(template))
    assert error.value.message.startswith("paper: figure fig1: caption: cannot be cited: ")
    assert message in error.value.message
    assert "\n" not in error.value.message


def doubled(first: str, more: str) -> str:
    """A text that goes on from a value forty times."""
    return f"{{% set a = {first} %}}" + 40 * f"{{% set a = {more} %}}" + "{{ a }}"


NO_NUMBERS = "is for numbers only"
TOO_LONG = "characters is longer than 10000"
TOO_MANY = "its loops, lists and calls take more than 500000 steps"
UNKNOWN = "No filter named"
UNSAFE = "is unsafe"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ 'a' * 2000000000 }}", NO_NUMBERS),
        ("{{ [1] * 2000000000 }}", NO_NUMBERS),
        ("{{ '%1000000000d' % 1 }}", NO_NUMBERS),
        ("{{ (table.word * 1000000000).max() }}", NO_NUMBERS),
        ("{{ 10 ** (10 ** 10) }}", "Numerical result out of range"),
        (doubled("99", "a * a"), "int too large to convert to float"),
        ("{{ '{:1000000000}'.format(1) }}", UNSAFE),
        ("{{ 'a'.center(1000000000) }}", UNSAFE),
        ("{{ (1).to_bytes(1000000000, 'big') }}", UNSAFE),
        ("{{ table.word.mul(1000000000).max() }}", UNSAFE),
        ("{{ table.word.cumsum().max() }}", UNSAFE),
        ("{{ 'a' | center(1000000000) }}", UNKNOWN),
        ("{{ 'a' | indent(1000000000) }}", UNKNOWN),
        ("{{ [1] | batch(1000000000, 1) | first }}", UNKNOWN),
        (doubled("'aa'", "a ~ a"), TOO_LONG),
        (doubled("'aa'", "a + a"), TOO_LONG),
        ("{{ 'aaaaaaaaaa'" + 9 * " | replace('a', 'aaaaaaaaaa')" + " }}", TOO_LONG),
        ("{{ 'aaaaaaaaaa'" + 9 * ".replace('a', 'aaaaaaaaaa')" + " }}", TOO_LONG),
        ("{% macro f(a) %}{{ a }}{{ a }}{% endmacro %}" + doubled("'aa'", "f(a)"), TOO_LONG),
        (doubled("[1]", "a + a"), TOO_MANY),
        (doubled("[1]", "[a, a]"), TOO_MANY),
        ("{% macro f(n) %}{{ f(n - 1) ~ f(n - 1) if n }}{% endmacro %}{{ f(60) }}", TOO_MANY),
        (3 * "{% for _ in range(1000) %}" + 3 * "{% endfor %}", TOO_MANY),
        (
            "{% set r = range(1000) | list %}" + 3 * "{% for _ in r %}" + 3 * "{% endfor %}",
            TOO_MANY,
        ),
        (
            "{% for _ in range(1000) %}" + 200 * "a" + "{% endfor %}",
            "shows more than 100000 charac",
        ),
        (
            "{% set a = 'aa' %}" + 40 * "{% set a %}{{ a }}{{ a }}{% endset %}",
            TOO_LONG,
        ),
    ],
)
def test_no_text_goes_on_for_ever_or_fills_the_memory(template, message):
    with pytest.raises(InputError) as error:
        shown(TABLE.assign(word="a")).cite(text(template))
    assert message in error.value.message
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 2 * 3 }} {{ 2 ** 3 }} {{ 2 ** -1 }} {{ 7 % 4 }} {{ (2 * table.seed).max() }}",
         "6 8 0.5 3 4"),
        ("{{ table.seed.mul(2).max() }} {{ table.groupby('word').seed.cumsum().max() }}", "4 4"),
        ("{{ (table.iloc[0][['rate', 'seed']] * 2).max() }}", "2"),
        ("{% set a %}{{ n_seeds }} seeds{% endset %}{{ a | upper }}", "10 SEEDS"),
        ("{{ 1.26 | round(1) }} {{ 5 | round }} {{ 0.1 | number(1000000000) }}",
         "1.3 5 0.10000000000000001"),
        ("{% for _ in range(1000) %}{% for _ in range(100) %}{% endfor %}{% endfor %}", ""),
        ("{{ table.seed.tolist() | span }} {{ table.word | join }}", "1 to 2 aaa"),
    ],
)  # fmt: skip
def test_what_texts_need_they_can_do(template, expected):
    assert shown(TABLE.assign(word="a")).cite(text(template)).caption == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ table.empty.max() }} {{ table.style.max() }} {{ table.T.max() }}", "2 4 6"),
        ("{{ table.groupby('T').empty.sum() | span }}", "1 to 2"),
        ("{% for _, row in table.iterrows() %}{{ row.empty }}{{ row.T }} {% endfor %}", "15 26"),
        ("{% for row in table.itertuples() %}{{ row.empty }} {% endfor %}", "1 2"),
        ("{{ table.index | numbers }}", "7, 8"),
    ],
)  # fmt: skip
def test_a_column_comes_before_what_pandas_calls_so(template, expected):
    table = pd.DataFrame({"empty": [1, 2], "style": [3, 4], "T": [5, 6], "index": [7, 8]})
    assert shown(table).cite(text(template)).caption == expected


@pytest.mark.parametrize(
    ("caption", "message"),
    [
        ("Of {{ table.half_lives.max() }}.", "example: figure fig2: caption: cannot be cited: unk"),
        ("Of {{ table.half_life.max( }}.", "example: figure fig2: caption: cannot be cited: unexp"),
        ("Of 31 seeds.", "example: figure fig2: the number in 'Of 31 seeds.' is typed; cite it"),
    ],
)
def test_the_text_of_every_figure_is_checked(monkeypatch, caption, message):
    jobs = JOBS.studies["example"]
    told = StudyResults(jobs, read_reference(reference_folder(ROOT, "example"))[0])
    check_texts([told])
    text = jobs.registry.figures["fig2"]
    spoilt = text.model_copy(update={"caption": caption})
    monkeypatch.setitem(jobs.registry.figures, "fig2", spoilt)
    with pytest.raises(InputError, match=re.escape(message)):
        check_texts([told])
    check_texts([StudyResults(jobs, None)])


def test_the_check_of_generated_files_checks_texts(monkeypatch):
    checked = []
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(generate, "generated_files", dict)
    monkeypatch.setattr(generate, "AUTHOR_PAGES", "none")
    monkeypatch.setattr(generate, "check_texts", checked.extend)
    monkeypatch.setattr(generate, "check_documents", checked.extend)
    assert CliRunner().invoke(generate.main, ["--check"]).exit_code == 0
    assert [told.jobs.study.name for told in checked] == 2 * [*JOBS.studies]


def test_a_document_is_made_from_its_template(tmp_path):
    path = tmp_path / "README.md.jinja"
    path.write_text("{% set n = seeds %}\n# Title\n\n{% set m = n %}\n\n{{ m }} seeds\n")
    first, _, text = fill_document(path, {"seeds": 10}).partition("\n")
    assert first == "<!-- Made from README.md.jinja by `python -m replication generate`. -->"
    assert text == "\n# Title\n\n10 seeds\n"
    with pytest.raises(InputError, match=r"README.md.jinja: cannot be cited: 'seeds' is undefined"):
        fill_document(path, {})


def test_metadata_stay_at_the_top_of_a_document(tmp_path):
    path = tmp_path / "paper.md.jinja"
    path.write_text("---\ntitle: T\n---\n\n{{ seeds }} seeds\n")
    shown = fill_document(path, {"seeds": 10})
    made = "# Made from paper.md.jinja by `python -m replication generate`.\n"
    assert shown == f"---\n{made}title: T\n---\n\n10 seeds\n"


@pytest.fixture(scope="module")
def studies():
    """Two studies with their references."""
    return [
        StudyResults(JOBS.studies[name], read_reference(reference_folder(ROOT, name))[0])
        for name in ("scan_and_snap", "example")
    ]


def filled(template, studies, document="docs/example/notes.md"):
    path = Path(f"{document}.jinja")
    known = cited._citable_values(cited._own_first(studies, path), [], document)
    return fill_template(template, document, known)


def test_a_verdict_is_of_the_own_study_or_of_the_one_that_is_named(studies):
    assert filled('{{ verdict("C").claim }}', studies) == "C"
    assert filled('{{ judged("C3", "scan_and_snap/T22d") }}', studies) == (
        "[C3](claims.md#C3): does not hold; [T22d](../scan_and_snap/claims.md#T22d): reproduced"
    )
    assert filled('{{ judged("scan_and_snap/T20c") }}', studies) == (
        "[T20c](../scan_and_snap/claims.md#T20c): does not hold, declared late, 0 of 3 hold"
    )
    both = 'E1 {{ judged("C1") }}'
    assert "../../../docs/example" in filled(both, studies, "src/papers/example/README.md")


def test_a_sentence_of_several_versions_that_does_not_hold_is_one_line_with_versions():
    sentences = [Sentence(words=words, claims=["A1"]) for words in ("It works.", "It does work.")]
    versions = {"v1": [sentences[0]], "v2": [sentences[0]], "v3": [sentences[1]] * 2}
    abstracts = [Abstract(version=name, sentences=each) for name, each in versions.items()]
    failed = Verdict.without_evidence("A1", "no").model_copy(update={"verdict": "does not hold"})

    def refuted(abstracts):
        registry = JOBS.studies["scan_and_snap"].registry
        registry = registry.model_copy(update={"abstracts": abstracts, "claims": []})
        told = SimpleNamespace(
            name="mine", jobs=SimpleNamespace(registry=registry), verdicts={"A1": failed}
        )
        return cited._refuted_lines([told], "README.md")

    line = "* `mine`: “It works.” ([A1](docs/mine/claims.md#A1))"
    assert refuted(abstracts[:1]) == [line]
    assert refuted(abstracts) == [
        f"{line}, v1 and v2; in other words in v3",
        "* `mine`: “It does work.” ([A1](docs/mine/claims.md#A1)), v3",
    ]


def test_a_study_that_a_document_names_must_be_there(studies):
    for name in ("counts", "costs", "cost", "abstract", "headlines", "pictures"):
        with pytest.raises(InputError, match=r"cannot be cited: there is no study nobody;"):
            filled(f'{{{{ {name}("nobody") }}}}', studies)


def test_the_cost_of_all_papers_leaves_out_what_is_no_paper(studies):
    assert filled("{{ cost() }}", studies) == filled('{{ cost("scan_and_snap") }}', studies)
    assert filled("{{ cost() }}", studies) != filled('{{ cost("example") }}', studies)


def test_pictures_of_the_home_study_lie_at_the_top(studies):
    shown = filled('{{ pictures("scan_and_snap", "fig6") }}', studies, "README.md")
    assert shown == "[`fig6`](docs/gallery/fig6.png)"


def test_the_address_of_the_pages_is_that_of_the_citation_file(tmp_path, monkeypatch, studies):
    monkeypatch.chdir(tmp_path)
    assert filled("{{ site }}", studies) == ""
    Path("CITATION.cff").write_text("url: https://example.org/pages\n")
    assert filled("{{ site }}", studies) == "https://example.org/pages"


def test_a_number_that_a_template_types_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("README.md.jinja").write_text("# T\n\n{{ 3 }} of 31 seeds\n")
    with pytest.raises(InputError, match=r"README.md.jinja: the number in '.*' is typed; cite it"):
        cited.check_documents([])


@pytest.mark.parametrize(
    "template",
    [
        "Figure 6, Figures 1-6, 8 and 9, Eqs. 10 and 26, Theorem 4, Assumption 1c (erratum E5)",
        "t_0' = K ln M / eta_Y, t_0 = 2(1 + omega_1) K ln M / eta_Y, x_1 to x_T, l_0, WikiText-2",
        "1 - w_d, n - 1, 1/K, f^2, exp(2 B_n(t)), dashes are ln 2 / -ln(1 - eta variance)",
        "{{ n_seeds }} seeds, {{ 'one' if n_seeds < 2 else 'several' }}, one standard deviation",
        "{% set begin = 0.1 %}Above {{ begin }}.",
        "½ B_n, f², hundreds, {{ -n_seeds }}, {{ n_seeds - 1 }}, Eq. 10, Figures 7 and 10 of it",
    ],
)
def test_names_and_formulas_are_not_typed_numbers(template):
    assert typed_numbers_in_template(template) == []


@pytest.mark.parametrize(
    "template",
    [
        "over 10 seeds", "up to 31 %", "about eta_Y^-0.75", "K = 10", "at ratio 1.", "update 1,500",
        "Four curves", "two of the layers", "3 layers", "a 3-layer model", "Eq. 10 at 5",
        "{{ 31 }} %", "{{ '31 %' }}", "{{ 31 | number }}", "{% if n_seeds %}31{% endif %}",
        "2 of {{ n_seeds }}", "eta_Z 3", "{{ -12 }}", "{{ 3 * 4 }}", "{{ -n_seeds | number }} 12",
        "Figure 1, 50 seeds", "Figures 1 and 2, 50 seeds", "thirteen", "forty", "ninety", "a dozen",
        "a hundred", "a thousand", "a billion", "twice as fast", "thrice", "threefold", "tenfold",
        "½ of them", "2½", "Ⅳ", "³", "٣",
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
        ("thirteen seeds, a dozen runs, 1½ s", 3),
        ("a dozen ways, twice", 0),
        ("five seeds prove it, two ways do not", 1),
        ("{{ a }} and 13", 1),
        ("{% if a %}13{% endif %}", 1),
    ],
)
def test_typed_numbers_of_a_document_are_found(markdown, typed):
    assert len(typed_numbers_in_document(markdown)) == typed


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_types_a_number(path):
    assert typed_numbers_in_document(path.read_text()) == []


@pytest.mark.parametrize(("study", "name"), FIGURES)
def test_every_text_is_cited_from_the_reference(study, name):
    jobs = JOBS.studies[study]
    reference, _ = read_reference(reference_folder(ROOT, study))
    tables = reference.tables
    if name == SCORECARD:
        tables[figure_path(name)] = table_of_verdicts(jobs.registry, reference.verdicts)
    table = tables[figure_path(name)]
    template = jobs.registry.figures[jobs.figures[name].kind]
    texts = CitedFigure.of(jobs, name, table, reference.verdicts.get).cite(template)
    for part in (texts.drawn, texts.caption):
        assert part
        assert not {"{", "nan", "None"} & {*part, *part.split()}


def test_a_caption_under_an_overlay_has_the_numbers_of_the_overlay(tmp_path, monkeypatch):
    """The figure is called otherwise, and has other seeds and variances."""
    monkeypatch.chdir(tmp_path)
    overlay = {
        "example": {
            "experiments": {"replication": {"seeds": {"count": 7}}},
            "figures": {"few": {"kind": "fig2", "experiment": "replication"}},
        }
    }
    studies = {"example": find_studies()["example"]}
    jobs = Jobs.of(configure(overlay, studies), studies)
    table = Path("figures/example/few.csv")
    table.parent.mkdir(parents=True)
    table.write_text("seed,variance,half_life,theory\n101,1,13,13.5\n107,0.5,26,27.4\n")
    captions = Captions(jobs)
    assert captions["example/few"].startswith(
        "Updates until half of the error along a direction is gone, on 7 seeds (101 to 107); dashes"
    )
    # As Snakemake does with its configuration, before anything is there.
    assert json.dumps(captions) == "{}"
    with pytest.raises(InputError, match=r"fig2\.csv"):
        captions["example/fig2"]


def test_what_a_template_does_is_said_by_its_error():
    with pytest.raises(InputError, match=r"^here: cannot be cited: division by zero;"):
        fill_template("{{ 1 / 0 }}", "here", {})
