"""Conformance of a study: what every folder must do to be computed, judged and drawn.

    def test_my_study(tmp_path):
        check_study(find_studies()["mypaper"], tmp_path)

The study is computed at its smallest scale and goes through all of `CHECKS`. To have a test per
check, compute it once with `Small.compute`, and call the checks with it. `Small.is_quick` says
what quick checks leave out.
"""

import inspect
import tempfile
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from replication.base.errors import OUT_OF_REGIME, InputError
from replication.base.strict import Strict
from replication.base.tables import read_csv
from replication.bundle.bundle import collect_fingerprints, run_keys
from replication.documents.figure_texts import CitedFigure
from replication.documents.methods import unknown_settings, unnamed_settings
from replication.documents.typed_numbers import typed_numbers_in_template
from replication.figures.drawn_numbers import unknown_marks
from replication.judge.comparisons import UNMEASURED
from replication.judge.scorecard import read_verdict
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.paper_settings import mistakes_in_departures
from replication.plan.steps import STEPS
from replication.run.stages import write_figure
from replication.run.work import function_of, parse_settings
from replication.study.claims import Statistical
from replication.study.registry import SCORECARD
from replication.study.studies import Study
from replication.testing.small import Small, first_of_each

EXAMPLES = 3
"""Examples that a message gives."""

Check = Callable[[Small], None]
CHECKS: list[Check] = []
"""All checks, in the order in which they read best."""


def check_study(study: Study, folder: Path, *, is_quick: bool = False) -> None:
    """Compute a study at its smallest scale in an empty folder; let it go through all checks.

    Quick checks compute less of it a second time, see `Small.is_quick`.

    Raises:
        AssertionError: if the study fails a check; the message says how.
        InputError: if the study cannot be computed.
    """
    small = Small.compute(study, folder, is_quick=is_quick)
    for check in CHECKS:
        check(small)


def _add_check(function: Check) -> Check:
    """Add a check to `CHECKS`; return the check that runs in the folder of the results."""

    @wraps(function)
    def inside(small: Small) -> None:
        with chdir(small.folder):
            function(small)

    CHECKS.append(inside)
    return inside


@_add_check
def check_jobs_are_plain_data(small: Small) -> None:
    """Check that JSON keeps a job as it is, and that its program reads all of its settings."""
    for path, step in small.steps("data", "runs", "metrics", "table", "figure"):
        ready = small.ready(path)
        again = STEPS.validate_json(STEPS.dump_json([ready]))
        assert again == [ready], f"{path}: its job is not the same after a round trip through JSON"
        function = function_of(ready)
        first = next(iter(inspect.signature(function).parameters.values()))
        assert isinstance(first.annotation, type), (
            f"{step.program}.{step.function}: its first parameter has no type that can be read;"
            " write the class, not its name in quotes"
        )
        assert issubclass(first.annotation, Strict), (
            f"{step.program}.{step.function}: its first parameter is no `Strict`"
        )
        given = step.settings["figure"] if step.stage in {"table", "figure"} else step.settings
        read = parse_settings(function, given).model_dump(mode="json")
        kept = {key: value for key, value in read.items() if key in given}
        assert kept == given, f"{path}: {step.program} reads other settings than it is given"


@_add_check
def check_same_seed_same_bytes(small: Small) -> None:
    """Check that every file except figures has the same bytes when it is made anew."""
    again, made = small.compute_again()
    for file in map(Path, made):
        _assert_same(file, again.folder / file)


def _assert_same(file: Path, again: Path) -> None:
    assert file.read_bytes() == again.read_bytes(), (
        f"{file}: the same job made other bytes the second time; does it draw from a"
        " generator without a seed, or go through a set?"
    )


@_add_check
def check_a_seed_does_not_depend_on_its_batch(small: Small) -> None:
    """Check that a seed alone gives the same bits as among others."""
    together = dict(small.runs())
    for (recipe, seed), alone in small.compute_one_seed(Random(0)):
        for name, values in together[recipe, seed].items():
            assert values.tobytes() == alone[name].tobytes(), (
                f"'{name}' of seed {seed} is another one without its neighbours"
            )


@_add_check
def check_one_seed_is_left(small: Small) -> None:
    """Check that `one_seed` of the study leaves one seed of every experiment that has any."""
    for draw in range(3):
        overlay = small.study.one_seed(small.parts.settings, Random(draw))
        parts = small.jobs_with(overlay).studies[small.study.name]
        for name in parts.experiments:
            left, known = parts.seeds(name), small.parts.seeds(name)
            assert len(left) <= 1, f"one_seed leaves seeds {left} of experiment {name}"
            assert {*left} <= {*known}, f"one_seed gives {name} a seed {left} that it does not have"


@_add_check
def check_fingerprints_tell_runs_apart(small: Small) -> None:
    """Check that every experiment has a metric `fingerprint` with a digest of every run."""
    tables = {}
    for name in small.parts.experiments:
        assert name in small.parts.files.fingerprints, f"experiment {name} has no `fingerprint`"
        table = small.table(small.parts.files.fingerprints[name])
        assert {"seed", "digest"} <= {*table}, f"fingerprint of {name}: lacks seed or digest"
        assert {*table["seed"]} == {*small.parts.seeds(name)}, (
            f"fingerprint of {name}: has other seeds than its runs"
        )
        assert table["digest"].is_unique, f"fingerprint of {name}: two runs are the same"
        tables[name] = table
    together = collect_fingerprints(tables)
    alike = together["experiment"][together.duplicated(run_keys(together))]
    assert alike.empty, (
        f"fingerprint of {alike.iloc[0]}: no text, and no whole number that all experiments have,"
        " tells two runs apart"
    )


@_add_check
def check_no_seed_is_dropped(small: Small) -> None:
    """Check that the evidence of a test over seeds has all seeds of its experiments."""
    for name, claim in small.parts.claims.items():
        evidence = small.table(small.parts.files.evidence[name])
        if UNMEASURED in evidence:
            reason = evidence[UNMEASURED].item()
            is_known = f"claim {name}" in small.parts.unlike_published
            assert is_known or reason.endswith(OUT_OF_REGIME), f"claim {name}: {reason}"
            continue
        assert not evidence.empty, f"claim {name}: its evidence is empty"
        if isinstance(claim.test, Statistical):
            sources = small.parts.sources(name)
            known = {seed for source, _ in sources for seed in small.parts.seeds(source)}
            assert {*evidence["seed"]} == known, (
                f"claim {name}: its evidence has seeds {sorted({*evidence['seed']})}, its data"
                f" {sorted(known)}"
            )


@_add_check
def check_everything_is_described(small: Small) -> None:
    """Check that figures have texts, methods name figures that exist, and a README is there."""
    registry = small.parts.registry
    drawn = set()
    for name, figure in small.parts.figures.items():
        key = registry.text_key(name, figure.kind)
        assert key in registry.figures, f"figure {name}: registry.yaml says nothing of '{key}'"
        assert type(figure).title, f"figure {name}: has no title"
        drawn.add(key)
    for name in registry.figures.keys() - {SCORECARD}:
        assert name in drawn, f"registry.yaml describes '{name}', which is not drawn"
    for method in registry.methods:
        unknown = {*method.figures} - {*registry.figures}
        assert not unknown, f"methods: {', '.join(unknown)} is no figure"
    readme = small.study.readme
    assert readme.is_file(), f"{readme}: is missing"
    # A note on its template may stand before the title.
    lines = readme.read_text(encoding="utf-8").splitlines()
    title = next((line for line in lines if line and not line.startswith("<!--")), "")
    assert title.startswith("# "), f"{readme}: has no title"


@_add_check
def check_methods_tell_every_setting(small: Small) -> None:
    """Check that the methods of the registry name every setting, and no other."""
    registry = small.parts.registry
    settings = configure({}, {small.study.name: small.study}).section(small.study.name)
    found = settings.model_dump(mode="json")
    silent, unknown = unnamed_settings(registry, found), unknown_settings(registry, found)
    assert not silent, f"registry.yaml: no entry of methods names {', '.join(silent)}"
    assert not unknown, f"registry.yaml: methods: there is no setting {', '.join(unknown)}"


@_add_check
def check_texts_cite_their_numbers(small: Small) -> None:
    """Check that captions and descriptions cite their numbers from tables and settings."""
    for kind, text in small.parts.registry.figures.items():
        for part in ("drawn", "caption"):
            typed = typed_numbers_in_template(getattr(text, part))
            assert not typed, (
                f"registry.yaml: figures: {kind}: {part}: the number in '{'; '.join(typed)}' is"
                " typed; cite it from the figure's table or settings, see"
                " replication/judge/citation.py"
            )
    verdicts = {
        claim: read_verdict(Path(path)) for claim, path in small.parts.files.verdicts.items()
    }
    for name, figure in small.parts.figures.items():
        table = read_csv(Path(small.parts.table(name)), ())
        shown = CitedFigure.of(small.parts, name, table, verdicts.get)
        shown.cite(small.parts.registry.figure_text(name, figure.kind))


@_add_check
def check_marks_tell_their_limits(small: Small) -> None:
    """Check that marks have plain words, and reasons for departures from the paper's regime."""
    studies = {small.study.name: small.study}
    defaults = Jobs.of(configure({}, studies), studies).studies[small.study.name]
    for sentence in small.parts.registry.sentences_with_marks:
        assert sentence.plain, f"registry.yaml: abstracts: '{sentence.words}': plain is missing"
    wrong = mistakes_in_departures(replace(defaults, registry=small.parts.registry))
    assert not wrong, "\n".join(wrong)


@_add_check
def check_no_evidence_is_forgotten(small: Small) -> None:
    """Check that a claim uses every function of the claims' modules that returns a table."""
    functions = {str(claim.evidence) for claim in small.parts.claims.values()}
    for module in {name.partition(".")[0] for name in functions}:
        program = small.study.program(f"claims.{module}")
        for name, value in inspect.getmembers(import_module(program), inspect.isfunction):
            is_evidence = "DataFrame" in str(inspect.signature(value).return_annotation)
            if is_evidence and value.__module__ == program and not name.startswith("_"):
                assert f"{module}.{name}" in functions, f"no claim uses {program}.{name}"


@_add_check
def check_figures_are_functions_of_their_table(small: Small) -> None:
    """Check that a figure reads only its table, does not change it, and shows its numbers.

    A figure that is drawn anew has the same bytes; quick checks draw it once.
    """
    from matplotlib.pyplot import close

    from replication.figures.style import set_style

    set_style()
    folder = small.folder / "drawn"
    folder.mkdir(exist_ok=True)
    for path, _ in small.steps("figure"):
        file = small.output(path)
        ready = small.jobs.ready(path, [str(folder / file.name)])
        draw = function_of(ready)
        table, *known = (read_csv(item.file, ()) for item in ready.of_role("table", "published"))
        before = table.copy(deep=True)
        figure = parse_settings(draw, ready.settings["figure"])
        missing = [column for column in figure.columns if column not in table]
        assert not missing, f"{path}: its table lacks {', '.join(missing)}"
        with tempfile.TemporaryDirectory() as empty, chdir(empty):
            drawn = draw(figure, table, known[0] if known else None)
        assert table.equals(before), f"{path}: `draw` changes its table"
        unknown = list(unknown_marks(drawn, [table, *known]))
        assert bool(unknown) == (figure.kind in small.study.drawn_beside), (
            f"{path}: does not have in its table what it draws, {', '.join(unknown[:EXAMPLES])};"
            " compute it in `table`"
            if unknown
            else f"{path}: has all that it draws in its table; take it out of DRAWN_BESIDE"
        )
        if small.is_quick:
            close(drawn)
        else:
            write_figure(ready, drawn)
            _assert_same(file, ready.file)


@_add_check
def check_mistakes_are_answered(small: Small) -> None:
    """Check that a wrong configuration gives an error that names the place, never a traceback.

    Quick checks try one figure of each kind.
    """
    section = small.parts.settings.model_dump(mode="json")
    last = [*section][-1]
    _assert_error(small, {f"{last}s": {}}, f"did you mean '{last}'?")
    for key, value in section.items():
        _assert_error(small, {key: _value_of_another_kind(value)}, small.study.name, key)
    names = [*section["figures"]]
    if small.is_quick:
        names = first_of_each(names, lambda name: small.parts.figures[name].kind)
    for name in names:
        for key, value in section["figures"][name].items():
            overlay = {"figures": {name: {key: _value_of_another_kind(value)}}}
            _assert_error(small, overlay, small.study.name, "figures", name, key)
            for experiment in small.parts.experiments:
                if value in (experiment, [experiment]):
                    strange = f"{experiment}x" if value == experiment else [f"{experiment}x"]
                    overlay = {"figures": {name: {key: strange}}}
                    _assert_error(small, overlay, f"did you mean '{experiment}'?")


def _value_of_another_kind(value: Any) -> Any:
    return "text" if isinstance(value, dict | list) else {"not": "this"}


def _assert_error(small: Small, overlay: dict[str, Any], *expected: str) -> None:
    said = "nothing"
    try:
        small.jobs_with(overlay)
    except InputError as error:
        said = error.message
    for words in expected:
        assert words in said, f"{overlay} is answered by '{said}', without '{words}'"
