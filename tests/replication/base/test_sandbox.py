"""Templates can do what texts need: they write nothing, run no code, and come to an end."""

import pandas as pd
import pytest
from cited_text import TABLE, shown, text

from replication.base.errors import InputError
from replication.base.sandbox import missing_column_message
from replication.judge.citation import fill_template
from replication.judge.verdicts import Verdict


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


def test_a_column_with_key_in_its_name_is_named_as_it_is():
    message = missing_column_message(pd.DataFrame(columns=["key_position"]), "key_positon")
    assert message == "unknown column 'key_positon'; did you mean 'key_position'?"
