"""Every figure of the defaults is drawn from what was made up, through its CSV."""

from functools import cache
from importlib import import_module
from io import BytesIO, StringIO
from pathlib import Path

import made_up_metrics
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.text import Text
from tiers import quick_first

from replication.figures.drawn_numbers import unknown_marks
from replication.figures.style import WIDTH, save_figure, set_style
from replication.plan.configuration import configure
from replication.study.studies import find_studies
from transformer_dynamics.lp_ft import figures

STUDY = find_studies()["lp_ft"]
FIGURES = configure({}, {STUDY.name: STUDY}).section(STUDY.name).figures
FOLDER = Path(figures.__file__).parent.parent
PUBLISHED = FOLDER / "published"
SMALLEST = 6.5
"""Type, in points."""
HIGHEST = 6.2
"""In inches, so that a caption fits below."""
DPI = 60


# The checks of a study draw every figure; this table has differences of printed values.
QUICK = {"fig1", "table3"}


@cache
def table(name):
    figure = FIGURES[name]
    measured = [made_up_metrics.metric(*source) for source in figure.sources()]
    return module(name).table(figure, *measured)


def module(name):
    return import_module(type(FIGURES[name]).__module__)


def read(found):
    return pd.read_csv(StringIO(found.to_csv(index=False)))


def published(name):
    given = FIGURES[name].published
    return None if given is None else pd.read_csv(PUBLISHED / given)


def drawn(name, found=None):
    set_style()
    given = read(table(name) if found is None else found)
    return module(name).draw(FIGURES[name], given, published(name))


def test_all_of_the_paper_are_there():
    numbers = [1, 2, 3, 8, 10, 11, 12, 13, 14, 15]
    papers = {f"fig{number}" for number in range(1, 12)} | {f"table{number}" for number in numbers}
    assert {*FIGURES} == papers | {
        "head_control", "equal_rate", "feature_change", "scale_test", "tuning", "tuning_larger",
        "larger_encoder",
    }  # fmt: skip
    with_printed = {name for name, figure in FIGURES.items() if figure.published}
    assert with_printed == {f"table{number}" for number in numbers}
    assert all(figure.published in {None, f"{name}.csv"} for name, figure in FIGURES.items())


@pytest.mark.parametrize("name", FIGURES)
def test_a_table_is_the_same_when_it_is_read(name):
    found = table(name)
    assert [*found] == [*FIGURES[name].columns]
    assert not found.empty
    again = read(found)
    for column in found:
        if pd.api.types.is_numeric_dtype(found[column]):
            np.testing.assert_array_equal(again[column], found[column])
        else:
            assert again[column].tolist() == found[column].tolist()


@pytest.mark.parametrize("name", quick_first(FIGURES, QUICK))
def test_a_figure_shows_its_table_in_legible_type(name):
    drawing = drawn(name)
    known = [read(table(name)), *([] if published(name) is None else [published(name)])]
    assert not list(unknown_marks(drawing, known))
    stream = BytesIO()
    with plt.rc_context({"savefig.dpi": DPI}):
        save_figure(drawing, stream, "png", "title", "subject")
    height, width, _ = plt.imread(BytesIO(stream.getvalue())).shape
    assert width <= (WIDTH + 0.05) * DPI
    assert height <= HIGHEST * DPI
    texts = [text for text in drawing.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= SMALLEST


@pytest.mark.parametrize("name", quick_first(FIGURES, QUICK))
def test_a_figure_of_one_seed_is_drawn(name):
    found = table(name)
    if "seed" in found:
        assert drawn(name, found[found["seed"] == found["seed"].min()]).axes
    plt.close("all")


@pytest.mark.parametrize("overlay", [None, "minimum", "full", "paper_scale"])
def test_what_figures_name_is_trained_and_computed(overlay):
    given = {} if overlay is None else yaml.safe_load((FOLDER / f"{overlay}.yaml").read_text())
    settings = configure(given, {STUDY.name: STUDY}).section(STUDY.name)
    grids = settings.experiments
    for name, figure in settings.figures.items():
        for panel in getattr(figure, "panels", []):
            length = grids[panel.experiment].texts[panel.texts]
            assert panel.test in {None, *length.others}, name
            assert panel.clip in {None, *(clip or 0 for clip in grids[panel.experiment].clips)}
        for curve in getattr(figure, "curves", []):
            assert curve.texts in grids[figure.experiment].texts, name
            assert curve.method in grids[figure.experiment].methods, name
        for texts in getattr(figure, "kernels", {}):
            assert texts in settings.kernels.texts, name
        if getattr(figure, "splits", "own") == "shifted":
            assert any(length.others for length in grids[figure.experiment].texts.values()), name
    assert {*settings.figures["head_control"].starts} == {*settings.head_control.texts}
    assert grids["head_length"].norms == ["random", "probe"]
