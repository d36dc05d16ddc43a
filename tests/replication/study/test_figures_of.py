"""The figures of a study, as they are found in its folder."""

from typing import Annotated, ClassVar, Literal

import pytest

from replication.base.errors import InputError
from replication.base.strict import Strict
from replication.study.contract import Figure, FiguresOf
from transformer_dynamics.example.figures.fig1 import Fig1

EXAMPLE = "transformer_dynamics.example"


class WithDefaults(Figure):
    """A figure that needs no settings."""

    title: ClassVar[str] = "With defaults"
    kind: Literal["with_defaults"] = "with_defaults"
    """Kind of the figure."""
    seeds: list[int] = [1]
    """Something that can be changed."""


class Same(Figure):
    """Another figure of a name that is taken."""

    title: ClassVar[str] = "Same"
    kind: Literal["fig1"]
    """Kind of the figure."""


class Settings(Strict):
    """A section of the configuration."""

    figures: Annotated[dict[str, Figure], FiguresOf(EXAMPLE, WithDefaults)]
    """The figures."""


def test_the_kind_says_which_figure_of_the_folder_it_is():
    mine = {"kind": "fig1", "experiment": "printed"}
    assert isinstance(Settings.parse({"figures": {"mine": mine}}, "").figures["mine"], Fig1)


def test_a_figure_that_needs_no_settings_is_there_by_itself():
    assert Settings.parse({"figures": {}}, "").figures == {"with_defaults": WithDefaults()}


def test_an_overlay_names_only_what_it_changes_in_it():
    changed = Settings.parse({"figures": {"with_defaults": {"seeds": [2]}}}, "").figures
    assert changed == {"with_defaults": WithDefaults(seeds=[2])}


def test_an_unknown_kind_is_named():
    with pytest.raises(InputError) as caught:
        Settings.parse({"figures": {"mine": {"kind": "fig11"}}}, "here")
    assert "Input tag 'fig11' found using 'kind'" in caught.value.message


def test_two_figures_of_a_kind_are_refused():
    with pytest.raises(InputError) as caught:
        FiguresOf(EXAMPLE, Same)
    assert "there is another figure 'fig1'" in caught.value.message
