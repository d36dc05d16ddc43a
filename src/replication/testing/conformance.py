"""Conformance of a study: what every folder must do to be computed, judged and drawn.

    def test_my_study(tmp_path):
        check_study(find_studies()["mypaper"], tmp_path)

The study is computed at its smallest scale and goes through all of `CHECKS`. To have a test per
check, compute it once with `Small.compute`, and call the checks with it. `Small.is_quick` says
what quick checks leave out.
"""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from functools import reduce, wraps
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from replication.base.errors import OUT_OF_REGIME, InputError
from replication.base.storage import read_csv
from replication.bundle.bundle import collect_fingerprints, run_keys
from replication.documents.methods import unknown_settings, unnamed_settings
from replication.documents.texts import cite_figure, typed_numbers_in_template
from replication.figures.drawn_numbers import unknown_marks
from replication.judge.comparisons import UNMEASURED
from replication.judge.scorecard import read_verdict
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.study_settings import mistakes_in_departures
from replication.run.stages import parse_settings, write_figure
from replication.study.claims import Statistical
from replication.study.registry import SCORECARD
from replication.study.studies import Study
from replication.testing.small import Small

Check = Callable[[Small], None]
CHECKS: list[Check] = []
"""All checks, in the order in which they read best."""


def check_study(study: Study, folder: Path, *, is_quick: bool = False) -> None:
    """Compute a study at its smallest scale in an empty folder; let it go through all checks.

    Quick checks compute less of it a second time, see `Small.is_quick`. An `AssertionError` says
    how the study fails a check, an `InputError` why it cannot be computed.
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


def _made_again(small: Small, paths: list[str]) -> list[str]:
    """Return the files that a check makes once more: all, or those that `Small.is_quick` names."""

    def kind(path: str) -> tuple[str, str]:
        step = small.jobs.steps[path]
        return step.stage, step.program if step.stage in {"data", "runs"} else ""

    first = {kind(path): path for path in reversed(paths)}
    return [*reversed(first.values())] if small.is_quick else paths


@_add_check
def check_same_seed_same_bytes(small: Small) -> None:
    """Check that every file except figures has the same bytes when it is made anew."""
    again, made = small.elsewhere("again", {}), _made_again(small, small.numbers)
    shutil.copytree("results", again.folder / "results", dirs_exist_ok=True)
    for path in made:
        (again.folder / path).unlink(missing_ok=True)
    again.make(sorted(made, key=small.numbers.index), in_process=2)
    for path in made:
        _assert_same(Path(path), again.folder / path)


def _assert_same(file: Path, again: Path) -> None:
    assert file.read_bytes() == again.read_bytes(), (
        f"{file}: the same job made other bytes the second time; does it draw from a"
        " generator without a seed, or go through a set?"
    )


@_add_check
def check_a_seed_does_not_depend_on_its_batch(small: Small) -> None:
    """Check that `one_seed` leaves one seed, and that this has the same bits as among others."""
    overlay = small.study.one_seed(small.parts.settings, Random(0))
    alone = small.elsewhere("alone", overlay)
    left = {name: alone.parts.seeds(name) for name in alone.parts.experiments}
    assert max(map(len, left.values()), default=0) <= 1, f"one_seed leaves seeds {left}"
    compared = _made_again(alone, [path for path, _ in alone.steps("runs")])
    needed = dict(alone.jobs.closure(compared))
    alone.make([path for path in alone.jobs.steps if path in needed], in_process=2)
    together = dict(small.runs(path for path, _ in small.steps("runs")))
    for (recipe, seed), arrays in alone.runs(compared):
        for name, values in together[recipe, seed].items():
            assert values.tobytes() == arrays[name].tobytes(), (
                f"'{name}' of seed {seed} is another one without its neighbours"
            )


@_add_check
def check_fingerprints_tell_runs_apart(small: Small) -> None:
    """Check that every experiment has a metric `fingerprint` with a digest of every run."""
    files = small.parts.files.fingerprints
    tables = {name: small.table(path) for name, path in files.items()}
    assert tables.keys() == small.parts.experiments.keys(), "an experiment has no `fingerprint`"
    for name, table in tables.items():
        assert {*table["seed"]} == {*small.parts.seeds(name)}, (
            f"fingerprint of {name}: has other seeds than its runs"
        )
        assert table["digest"].is_unique, f"fingerprint of {name}: two runs are the same"
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
            sources = {source for source, _ in small.parts.sources(name)}
            known = {seed for source in sources for seed in small.parts.seeds(source)}
            found = {*evidence["seed"]}
            assert found == known, f"claim {name}: its evidence has seeds {found}, not {known}"


@_add_check
def check_everything_is_described(small: Small) -> None:
    """Check that the registry has texts of the figures that are drawn, and of no others."""
    registry, figures = small.parts.registry, small.parts.figures
    drawn = {registry.text_key(name, figure.kind) for name, figure in figures.items()}
    silent, strange = drawn - {*registry.figures}, {*registry.figures} - drawn - {SCORECARD}
    assert not silent, f"registry.yaml: figures: says nothing of {', '.join(silent)}"
    assert not strange, f"registry.yaml: figures: {', '.join(strange)} is not drawn"
    unknown = {name for method in registry.methods for name in method.figures} - {*registry.figures}
    assert not unknown, f"registry.yaml: methods: {', '.join(unknown)} is no figure"


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
                " replication/judge/templates.py"
            )
    files = small.parts.files.verdicts
    verdicts = {claim: read_verdict(Path(path)) for claim, path in files.items()}
    for name, figure in small.parts.figures.items():
        table = read_csv(Path(small.parts.table(name)), ())
        text = small.parts.registry.figure_text(name, figure.kind)
        cite_figure(small.parts, name, text, table, verdicts.get)


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
def check_figures_are_functions_of_their_table(small: Small) -> None:
    """Check that a figure reads only its table, does not change it, and shows its numbers.

    A figure that is drawn anew has the same bytes; quick checks draw it once.
    """
    from matplotlib.pyplot import close

    from replication.figures.style import set_style

    set_style()
    Path("drawn").mkdir(exist_ok=True)
    for path, _ in small.steps("figure"):
        file = small.output(path)
        ready = small.jobs.ready(path, [str(small.folder / "drawn" / file.name)])
        draw = import_module(ready.program).draw
        inputs = ready.of_role("table", "published")
        table, *published = (read_csv(item.file, ()) for item in inputs)
        before = table.copy(deep=True)
        figure = parse_settings(draw, ready.settings["figure"])
        missing = [column for column in figure.columns if column not in table]
        assert not missing, f"{path}: its table lacks {', '.join(missing)}"
        with tempfile.TemporaryDirectory() as empty, chdir(empty):
            drawn = draw(figure, table, next(iter(published), None))
        assert table.equals(before), f"{path}: `draw` changes its table"
        unknown = [*unknown_marks(drawn, [table, *published])]
        may_have = figure.kind in getattr(small.study.module, "DRAWN_BESIDE", {})
        assert bool(unknown) == may_have, (
            f"{path}: draws what its table lacks ({', '.join(unknown[:3]) or 'nothing'}); compute"
            " it in `table`, and name in DRAWN_BESIDE the kinds alone that need more"
        )
        if small.is_quick:
            close(drawn)
        else:
            write_figure(ready, drawn, figure.title)
            _assert_same(file, ready.file)


@_add_check
def check_mistakes_are_answered(small: Small) -> None:
    """Check that a wrong configuration gives an error that names the place, never a traceback.

    Quick checks try one figure of each kind.
    """
    section, figures = small.parts.settings.model_dump(mode="json"), small.parts.settings.figures
    by_kind = {figure.kind: name for name, figure in figures.items()}
    names = by_kind.values() if small.is_quick else figures
    places: dict[tuple[str, ...], object] = {(key,): value for key, value in section.items()}
    places |= {
        ("figures", name, key): value
        for name in names
        for key, value in section["figures"][name].items()
    }
    for place, value in places.items():
        wrong: object = "text" if isinstance(value, dict | list) else {"not": "this"}
        overlay: Any = reduce(lambda inner, key: {key: inner}, reversed(place), wrong)
        said = "nothing"
        try:
            small.jobs_with(overlay)
        except InputError as error:
            said = error.message
        assert all(key in said for key in place), f"{overlay} is answered by '{said}'"
