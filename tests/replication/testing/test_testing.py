"""Every check of a study refuses a study that breaks it."""

from dataclasses import replace
from random import random
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from replication.base.errors import InputError
from replication.base.keys import split_record
from replication.base.storage import PROVENANCE, write_arrays
from replication.run.stages import parse_settings
from replication.study.registry import SCORECARD, PaperSettings
from replication.study.studies import Study, find_studies
from replication.testing import conformance as testing
from replication.testing.conformance import CHECKS
from replication.testing.small import Small
from transformer_dynamics.example import study as example
from transformer_dynamics.example.figures import fig2


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    study, folder = find_studies()["example"], tmp_path_factory.mktemp("example")
    return Small.compute(study, folder)


@pytest.fixture(params=[False, True], ids=["all", "quick"])
def small_in_both_extents(request, small):
    return replace(small, is_quick=request.param)


def test_there_is_a_test_here_for_every_check():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_that_")}
    assert tested == {check.__name__.replace("check_", "that_", 1) for check in CHECKS}


def test_a_class_in_quotes_is_answered(monkeypatch):
    monkeypatch.setitem(fig2.draw.__annotations__, "figure", "Fig2")
    with pytest.raises(InputError, match="of draw needs a class, a `Strict`, not its name in quo"):
        parse_settings(fig2.draw, {})


@pytest.fixture
def other_runs(small):
    """As if the runs of some seeds had differed from those of one in their last digit."""
    paths = [small.folder / path for path, _ in small.steps("runs") if "printed" in path]
    contents = [path.read_bytes() for path in paths]
    for path in paths:
        with np.load(path) as arrays:
            made_by, _ = split_record(str(arrays[PROVENANCE]))
            changed = np.nextafter(arrays["weights"], 1)
        write_arrays(path, {"weights": changed}, made_by)
    yield
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)


def test_that_same_seed_same_bytes(small_in_both_extents, other_runs):
    with pytest.raises(AssertionError, match=r"1-2\.npz: the same job made other bytes"):
        testing.check_same_seed_same_bytes(small_in_both_extents)


def test_that_a_seed_does_not_depend_on_its_batch(small_in_both_extents, other_runs):
    with pytest.raises(AssertionError, match=r"'weights' of seed \d is another one"):
        testing.check_a_seed_does_not_depend_on_its_batch(small_in_both_extents)


def test_more_than_one_seed_is_refused(small, monkeypatch):
    monkeypatch.setattr(example, "one_seed", lambda settings, random: {}, raising=False)
    with pytest.raises(AssertionError, match="one_seed leaves seeds"):
        testing.check_a_seed_does_not_depend_on_its_batch(small)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.query("seed > 1"), "has other seeds than its runs"),
        (lambda table: table.loc[[0, *table.index]], "two runs are the same"),
        (
            lambda table: pd.concat([table, table.assign(digest=table["digest"] + "again")]),
            "tells two runs apart",
        ),
    ],
)
def test_that_fingerprints_tell_runs_apart(small, monkeypatch, change, message):
    read = Small.table
    monkeypatch.setattr(Small, "table", lambda self, path: change(read(self, path)))
    with pytest.raises(AssertionError, match=message):
        testing.check_fingerprints_tell_runs_apart(small)


def test_whole_numbers_that_one_experiment_lacks_tell_no_runs_apart(small, monkeypatch):
    """In the table of all experiments they have fractions."""
    read = Small.table
    first = next(iter(small.parts.files.fingerprints.values()))

    def with_classes(self, path):
        table = read(self, path)
        if path != first:
            return table
        other = table.assign(digest=table["digest"] + "other", classes=6)
        return pd.concat([table.assign(classes=2), other], ignore_index=True)

    monkeypatch.setattr(Small, "table", with_classes)
    with pytest.raises(AssertionError, match="no whole number that all experiments have"):
        testing.check_fingerprints_tell_runs_apart(small)


def test_that_no_seed_is_dropped(small, monkeypatch):
    read = Small.table

    def dropped(self, path):
        table = read(self, path)
        return table.query("seed != 105") if "seed" in table else table

    monkeypatch.setattr(Small, "table", dropped)
    with pytest.raises(AssertionError, match="claim C2: its evidence has seeds"):
        testing.check_no_seed_is_dropped(small)


def with_registry(small, **changes):
    """The study with other claims or texts."""
    parts = replace(small.parts, registry=small.parts.registry.model_copy(update=changes))
    return replace(small, jobs=replace(small.jobs, studies={"example": parts}))


def test_that_everything_is_described(small):
    known = small.parts.registry.figures
    silent = with_registry(small, figures={name: known[name] for name in (SCORECARD, "fig1")})
    with pytest.raises(AssertionError, match="says nothing of fig2"):
        testing.check_everything_is_described(silent)


def test_two_figures_of_a_kind_may_have_texts_of_their_own(small):
    own, other = (small.parts.registry.figures[name] for name in ("fig1", "fig2"))
    registry = small.parts.registry.model_copy(update={"figures": {"fig1": own, "slow": other}})
    assert registry.figure_text("slow", "fig1") is other
    assert registry.figure_text("fast", "fig1") is own


def test_that_methods_tell_every_setting(small):
    first, *others = small.parts.registry.methods
    with pytest.raises(AssertionError, match=r"no entry of methods names experiments\.printed\.tr"):
        testing.check_methods_tell_every_setting(with_registry(small, methods=others))
    wrong = first.model_copy(update={"settings": [*first.settings, "experiments.other"]})
    with pytest.raises(AssertionError, match=r"methods: there is no setting experiments\.other$"):
        testing.check_methods_tell_every_setting(with_registry(small, methods=[wrong, *others]))


@pytest.mark.parametrize(
    ("caption", "error", "message"),
    [
        (
            "Over 10 seeds.",
            AssertionError,
            "fig2: caption: the number in 'Over 10 seeds.' is typed",
        ),
        ("Over {{ seeds }}.", testing.InputError, "example: figure fig2: caption: cannot be cited"),
    ],
)
def test_that_texts_cite_their_numbers(small, caption, error, message):
    known = small.parts.registry.figures
    text = known["fig2"].model_copy(update={"caption": caption})
    with pytest.raises(error, match=message):
        testing.check_texts_cite_their_numbers(with_registry(small, figures=known | {"fig2": text}))


def test_that_marks_tell_their_limits(small):
    def with_sentence(**changes):
        [abstract] = small.parts.registry.abstracts
        sentences = [*abstract.sentences]
        sentences[1] = sentences[1].model_copy(update=changes)
        abstracts = [abstract.model_copy(update={"sentences": sentences})]
        return with_registry(small, abstracts=abstracts)

    with pytest.raises(AssertionError, match=r"learns large directions.*plain is missing"):
        testing.check_marks_tell_their_limits(with_sentence(plain=None))
    with pytest.raises(AssertionError, match=r"departs: no claim .* in momentum; remove it"):
        testing.check_marks_tell_their_limits(with_sentence(departs={"momentum": "None."}))
    paper = PaperSettings(regime={"learning_rate": 7.0}, scale={"momentum": 0})
    with pytest.raises(AssertionError) as error:
        testing.check_marks_tell_their_limits(with_registry(small, paper_settings=paper))
    assert "claim C1 departs from the paper in learning_rate: " in str(error.value)
    assert "paper_settings: unknown setting of a job 'momentum'" in str(error.value)


def drawn_with(monkeypatch, change):
    """Have Figure 2 changed after it was drawn, by a function of its axes and its table."""

    def draw(figure, table, published=None):
        drawing = whole(figure, table, published)
        change(drawing.axes[0], table)
        return drawing

    whole = fig2.draw
    draw.__annotations__ = whole.__annotations__
    monkeypatch.setattr(fig2, "draw", draw)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda axes, table: axes.plot([0.2, 0.3, 0.7], [31, 28, 31]), "a line at 0.2"),
        (lambda axes, table: axes.scatter(table["variance"], table["half_life"] ** 2), "a point"),
        (lambda axes, table: axes.bar([1, 2, 3], [0.31, 0.17, 0.2]), "a bar at 0.31"),
        (lambda axes, table: axes.axhline(17.356), "a line at 17.356"),
        (lambda axes, table: axes.stairs([0.31, 0.17, 0.2]), "a step at 0.31"),
        (lambda axes, table: axes.fill([1, 2, 4], [0.31, 0.17, 0.2]), "a filled area at 0.31"),
        (
            lambda axes, table: axes.inset_axes((0, 0, 1, 1)).axhline(17.356),
            "a line at 17.356",
        ),
        (lambda axes, table: table.insert(0, "more", 1), "`draw` changes its table"),
        (lambda axes, table: axes.set_title(f"{random():.9f}"), "fig2.pdf: the same job made"),
    ],
)
def test_that_figures_are_functions_of_their_table(small, monkeypatch, change, message):
    drawn_with(monkeypatch, change)
    with pytest.raises(AssertionError, match=message):
        testing.check_figures_are_functions_of_their_table(small)


def test_what_is_no_number_may_be_drawn(small, monkeypatch):
    """Round lines, evenly spaced places, and error bars of two columns."""

    def change(axes, table):
        axes.axhline(16)
        axes.bar(np.arange(len(table)), table["half_life"])
        axes.errorbar(table["variance"], table["half_life"], table["theory"])

    drawn_with(monkeypatch, change)
    with pytest.raises(AssertionError, match="made other bytes"):
        testing.check_figures_are_functions_of_their_table(small)


def test_that_mistakes_are_answered(small, monkeypatch):
    monkeypatch.setattr(Small, "jobs_with", lambda self, overlay: None)
    with pytest.raises(AssertionError, match="is answered by 'nothing'"):
        testing.check_mistakes_are_answered(small)


def test_an_exception_that_is_not_needed_is_refused(small, monkeypatch):
    monkeypatch.setattr(example, "DRAWN_BESIDE", {"fig1": "theory"}, raising=False)
    with pytest.raises(AssertionError, match=r"table lacks \(nothing\).* name in DRAWN_BESIDE"):
        testing.check_figures_are_functions_of_their_table(small)


def test_a_study_that_cannot_be_computed_says_why(tmp_path, small):
    module = ModuleType(example.__name__)
    vars(module).update(vars(example))
    short = {"experiments": {"printed": {"training": {"updates": 5}}}}
    module.smallest = lambda settings, folder: short
    with pytest.raises(testing.InputError, match="not half learned after 5 updates; do more"):
        Small.compute(Study("example", module), tmp_path)
