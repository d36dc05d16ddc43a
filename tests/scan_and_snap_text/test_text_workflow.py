"""Figures 7 and 10 from a small corpus: in one process, and by the whole workflow."""

import json
import math
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import STUDIES, Project
from text_examples import markov_text

from replication.plan.configuration import configure as configured
from replication.plan.jobs import Jobs
from replication.testing.small import Small

# Quick tests compute the study, smaller, in `test_studies`.
pytestmark = pytest.mark.thorough
FIGURES = ("fig7", "fig10", "wikitext_dynamics", "wikitext_switches", "wikitext_sensitivity")
CLAIMS = ("T24a", "T24b", "T24c", "T24d", "T24e", "T24f", "T24h", "T25a", "T25c")
TABLES = ("figures/fig7.csv", "figures/fig10.csv", "figures/wikitext_dynamics.csv")
SMALL = {"width": 8, "hidden": 8}
STUDY = "scan_and_snap_text"
VERDICTS = f"results/{STUDY}/verdicts"


def corpus(folder: Path, seed: int) -> dict[str, Any]:
    """Write a corpus; returns its entry in the configuration."""
    folder.mkdir()
    return {"folder": folder.name} | {
        split: {"name": f"{split}.txt", "sha256": markov_text(folder / f"{split}.txt", *args)}
        for split, args in {"train": (12_000, seed), "valid": (500, seed + 1)}.items()
    }


def overlay(folder: Path) -> dict[str, Any]:
    """A configuration with few small models, and the corpora that it names in a folder."""
    training = {"epochs": None, "updates": 20, "batch_size": 4, "chunk_length": 20}
    shared = {"evaluation": {"shown_chunk": 1, "batch_size": 2, "sampled_chunks": 3}}
    one_layer = {"models": {"one_layer": SMALL}, "learning_rates": [1.0, 3.0]} | shared
    rates = one_layer | {"seeds": [1, 2], "training": training | {"recorded": [0, 10]}}
    maps = shared | {
        "models": {"one_layer": SMALL, "three_layers": SMALL},
        "seeds": [1, 2],
        "training": training | {"recorded": [0, 10]},
    }
    without = ("no_positions", "no_feed_forward", "no_residual", "attention_only")
    switches = shared | {
        "models": dict.fromkeys(without, SMALL),
        "seeds": [1, 2],
        "training": training | {"updates": 10, "recorded": [0]},
    }
    varied = maps | {"models": {"one_layer": SMALL}}
    own = rates | {"corpora": ["own"], "models": {"one_layer": {"layers": 1, **SMALL}}}
    own |= {"learning_rates": [3.0]}
    own |= {"training": training | {"updates": None, "epochs": 1, "dropout": 0.1}, "seeds": [7]}
    return {
        STUDY: {
            "corpora": {
                "wikitext2": corpus(folder / "text", 1),
                "own": corpus(folder / "own text", 5),
            },
            "experiments": {
                "wikitext_maps": maps,
                "wikitext_switches": switches,
                "wikitext_one_rate": varied,
                "wikitext_no_dropout": varied | {"training": training | {"recorded": [0, 10]}},
                "wikitext_rates": rates,
                "own_rates": own,
            },
            "figures": {
                "fig7": {"iterations": [0, 10, 20]},
                "fig10": {
                    "experiments": ["wikitext_rates", "own_rates"],
                    "panels": {"own": "My corpus"},
                },
            },
        }
    }


def configure(project: Project, configuration: dict[str, Any]) -> None:
    (project.folder / "config/quick.yaml").write_text(yaml.safe_dump(configuration))


@pytest.fixture(scope="module")
def text_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All figures and verdicts; a test that edits it must undo the edit."""
    project = Project(tmp_path_factory.mktemp("text"))
    configure(project, overlay(project.folder))
    project.run(STUDY, "--cores", "2")
    return project


def in_one_process(folder: Path) -> Path:
    """What the workflow makes of numbers, and Figure 10, without a start for every run."""
    changes, studies = overlay(folder), {STUDY: STUDIES[STUDY]}
    with chdir(folder):
        jobs = Jobs.of(configured(changes, studies), studies)
        small = Drawn(STUDIES[STUDY], folder, changes, jobs)
        small.make([*small.numbers, "figures/fig10"])
    return folder


class Drawn(Small):
    """Its figures are SVGs."""

    def output(self, path: str) -> Path:
        return Path(f"{path}.svg" if self.jobs.steps[path].stage == "figure" else path)


@pytest.fixture(
    scope="module",
    params=["one process", "workflow"],
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with tables, verdicts and Figure 10."""
    if request.param == "workflow":
        project: Project = request.getfixturevalue("text_project")
        return project.folder
    return in_one_process(tmp_path_factory.mktemp("made"))


def test_figures_and_verdicts_are_made(text_project: Project):
    for figure in FIGURES:
        content = (text_project.folder / f"figures/{figure}.pdf").read_bytes()
        assert content.startswith(b"%PDF")
        assert b"CreationDate" not in content
    verdicts = {
        claim: json.loads((text_project.folder / f"{VERDICTS}/{claim}.json").read_text())
        for claim in CLAIMS
    }
    card = pd.read_parquet(text_project.folder / f"{VERDICTS}.parquet")
    text = (text_project.folder / f"{VERDICTS}.md").read_text()
    assert len(card) >= len(CLAIMS)
    for claim, verdict in verdicts.items():
        # These are two seeds, whatever they say.
        assert verdict["verdict"] == "not tested"
        assert f"| {claim} |" in text


def test_evidence_is_read_off_the_dynamics(made: Path):
    table = pd.read_csv(made / TABLES[2])
    assert table.drop(columns=["change", "change_mean"]).notna().all(axis=None)
    assert table["function_words"].sub(1).abs().max() > 1e-3
    ends = table.set_index(["iteration", "model", "seed"]).drop(columns="corpus")
    change = ends.loc[20] - ends.loc[0]
    expected = {
        "T24a": change["entropy_share"],
        "T24b": ends.loc[20]["change"] / ends.loc[10]["change"],
        "T24c": ends.loc[20]["distinctness"],
        "T24d": change["rare_words"] - change["function_words"],
        "T24h": ends.loc[20]["entropy_share"],
    }
    for claim, values in expected.items():
        file = made / f"{VERDICTS}/{claim}.json"
        found = {
            part["cell"]: part["estimate"] for part in json.loads(file.read_text())["comparisons"]
        }
        means = values.groupby("model").mean()
        cells = {
            f"wikitext2, {model.replace('_', ' ')}, rate 5": mean for model, mean in means.items()
        }
        assert found == pytest.approx(cells)


def test_table_of_figure_7(made: Path):
    table = pd.read_csv(made / TABLES[0])
    assert list(table.columns[:6]) == [
        "layers", "seed", "iteration", "query_position", "key_position", "attention"
    ]  # fmt: skip
    assert len(table) == 2 * 3 * 20 * 20
    assert set(table["iteration"]) == {0, 10, 20}
    assert table.groupby("layers")["seed"].nunique().tolist() == [1, 1]
    rows = table.groupby(["layers", "iteration", "query_position"])["attention"].sum()
    assert rows.to_numpy() == pytest.approx(1, abs=1e-5)
    assert (table.loc[table["key_position"] > table["query_position"], "attention"] == 0).all()
    # The second chunk of the first column: words 21 to 40 of the text.
    text = (made / "text/train.txt").read_text().split()
    diagonal = table[table["key_position"] == table["query_position"]]
    assert diagonal["query_word"].tolist() == 6 * text[20:40]
    assert (diagonal["query_word"] == diagonal["key_word"]).all()


def test_table_of_figure_10(made: Path):
    table = pd.read_csv(made / TABLES[1])
    assert list(table.columns[:6]) == [
        "corpus", "learning_rate", "seed", "epochs", "attention_entropy", "perplexity"
    ]  # fmt: skip
    assert table["uniform_entropy"].to_numpy() == pytest.approx(math.lgamma(21) / 20, rel=1e-12)
    alone = table["corpus"] == "own"
    assert (table["perplexity"] == table["perplexity_mean"])[alone].all()
    assert table["perplexity_std"].isna().equals(alone)
    assert table[["corpus", "learning_rate", "seed"]].to_numpy().tolist() == [
        ["own", 3.0, 7], *(
            ["wikitext2", rate, seed] for rate in (1.0, 3.0) for seed in (1, 2)
        )
    ]  # fmt: skip
    # 12,000 words in 4 columns are 2,999 rows of words with a next one: 150 chunks of 20.
    epochs = table.groupby("corpus")["epochs"].unique()
    assert epochs["own"].tolist() == [1.0]
    assert epochs["wikitext2"].tolist() == [20 / 150]
    assert table["attention_entropy"].between(0, math.log(20)).all()
    assert table["perplexity"].between(2, 150).all()
    learnt = table.groupby("corpus")["perplexity"].mean()
    assert learnt["own"] < learnt["wikitext2"]


def test_panels_say_what_stands_behind_them(made: Path):
    content = (made / "figures/fig10.svg").read_text()
    for words in (
        "WikiText-2 (2 seeds, 0.133 epoch)",
        "My corpus (1 seed, 1 epoch)",
    ):
        assert words in content
    assert "<!-- WikiText-103 -->" not in content


def test_nothing_reruns_when_nothing_changed(text_project: Project):
    assert text_project.planned(STUDY) == {}


def test_another_corpus_reruns_what_is_made_of_it(text_project: Project):
    text = text_project.folder / "own text/valid.txt"
    file = text_project.folder / "config/quick.yaml"
    content, configuration = text.read_text(), file.read_text()
    changed = yaml.safe_load(configuration)
    valid = changed[STUDY]["corpora"]["own"]["valid"]
    valid["sha256"] = markov_text(text, 500, 9)
    try:
        configure(text_project, changed)
        planned = text_project.planned(STUDY)
    finally:
        text.write_text(content)
        file.write_text(configuration)
    counts = {"data": 1, "runs": 1, "metrics": 1}
    assert planned == counts | {"table": 1, "figure": 2, "page": 1, STUDY: 1}
