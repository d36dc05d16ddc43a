"""What is refused of the settings and the texts of training on text, and in which words."""

import hashlib
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DEFAULTS, changed
from text_examples import FILE_KEY, assert_one_sentence, tokenised

from replication.base.errors import InputError
from replication.base.storage import read_arrays
from replication.base.strict import read_yaml
from replication.plan.configuration import Computation, configuration_type, configure
from replication.plan.limits import time_limit
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap_text.data.corpus import Corpus
from transformer_dynamics.scan_and_snap_text.settings.training import TokenJob

TYPE = configuration_type(find_studies())
STUDY = find_studies()["scan_and_snap_text"]
MAPS, FIG7 = "experiments.wikitext_maps", "figures.fig7"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (f"{MAPS}.corpora", ["wikitext1"], "experiments > wikitext_maps > corpora: unknown key"),
        (f"{MAPS}.corpora", ["wikitext1"], "did you mean 'wikitext2'?"),
        (f"{MAPS}.corpora", ["wikitext2", "wikitext2"], "wikitext2 is repeated"),
        (f"{MAPS}.corpora", [], "should have at least 1"),
        (f"{MAPS}.models.one_layer.layer", 2, "unknown key 'layer'; did you mean 'layers'?"),
        (f"{MAPS}.models.one_layer.layers", 0, "greater than or equal to 1 (given: 0)"),
        (f"{MAPS}.models.one_layer.width", 7, "multiple of 2 (given: 7)"),
        (f"{MAPS}.models.one_layer", {}, "models > one_layer > layers: Field required"),
        (f"{MAPS}.models", {}, "should have at least 1"),
        (f"{MAPS}.models.one-layer", {"layers": 1}, "should match pattern"),
        (f"{MAPS}.learning_rates", [5, 0], "greater than 0 (given: 0)"),
        (f"{MAPS}.learning_rates", [5, 5.0000001], "learning_rates: two have the name rate5"),
        (f"{MAPS}.seeds", [1, 1], "1 is repeated"),
        (f"{MAPS}.seeds", [1.0], "valid integer"),
        (f"{MAPS}.training.epochs", 2, "training: give either updates or epochs"),
        (f"{MAPS}.training.updates", None, "training: give either updates or epochs"),
        (f"{MAPS}.training.dropout", 1, "less than 1 (given: 1)"),
        (f"{MAPS}.training.clip", float("inf"), "finite number"),
        (f"{MAPS}.training.recorded", [0, 5, 5], "5 is repeated"),
        (f"{MAPS}.models.one_layer.initial_bound", 0, "greater than 0 (given: 0)"),
        (f"{MAPS}.models.one_layer.scaled_embeddings", 2, "should be a valid boolean"),
        (f"{MAPS}.evaluation.entropy_epsilon", 1, "less than 1 (given: 1)"),
        ("metrics.words.function_words", 0, "greater than or equal to 1 (given: 0)"),
        ("metrics.words.rare_below", 1, "greater than or equal to 2 (given: 1)"),
        ("metrics.words.next_words", 10_001, "less than or equal to 10000 (given: 10001)"),
        ("metrics.words.least_occurrences", 0, "greater than or equal to 1 (given: 0)"),
        ("metrics.words.least_keys", 1, "greater than or equal to 2 (given: 1)"),
        ("metrics.early", 0, "greater than or equal to 1 (given: 0)"),
        ("corpora.wikitext2.train.sha256", "abc", "should match pattern"),
        ("corpora.wikitext2.train.name", "../a", "should match pattern"),
        (f"{FIG7}.seed", 9, "fig7: experiment 'wikitext_maps' has no seed 9"),
        (f"{FIG7}.iterations", [0, 50], "'wikitext_maps' does not record update 50"),
        (f"{FIG7}.experiments", ["wikitext_rates"], "must have one corpus and one rate"),
        (f"{FIG7}.kind", "fig8", "Input tag 'fig8' found using 'kind' does not match"),
        ("figures.fig10.panels", {}, "should have at least 1"),
        ("figures.wikitext_switches.models", ["no_position"], "did you mean 'no_positions'?"),
        ("figures.wikitext_dynamics.models", ["no_residual"], "unknown key 'no_residual'"),
    ],
)
def test_wrong_settings_are_named(path: str, value: Any, message: str):
    with pytest.raises(InputError) as caught:
        TYPE.parse(changed(f"{STUDY.name}.{path}", value), "my.yaml")
    assert message in caught.value.message
    assert caught.value.message.startswith("my.yaml: scan_and_snap_text")


def test_models_of_the_same_depth_cannot_share_figure_7():
    model = {"layers": 1, "positions": False}
    with pytest.raises(InputError, match="layers"):
        TYPE.parse(changed(f"{STUDY.name}.{MAPS}.models.no_positions", model), "my.yaml")


def test_names_of_runs_tell_them_apart():
    settings = DEFAULTS.section(STUDY.name)
    made = STUDY.experiments(settings, Computation())
    for name, of in settings.experiments.items():
        every = list(product(of.corpora, of.models, of.learning_rates, of.seeds))
        assert len(made[name].runs) == len(every)


def test_kinds_of_words_are_settings_of_the_dynamics_alone():
    data = changed(f"{STUDY.name}.metrics.words.function_words", 50)
    before, after = (
        STUDY.experiments(found.section(STUDY.name), Computation())["wikitext_maps"]
        for found in (DEFAULTS, TYPE.parse(data, "my.yaml"))
    )
    assert before.runs == after.runs
    unlike = [name for name, job in before.metrics.items() if after.metrics[name] != job]
    assert unlike == ["dynamics"]


def test_papers_scale_is_an_overlay():
    paper = configure(read_yaml(STUDY.folder / "paper_scale.yaml"), find_studies())
    rates = paper.section(STUDY.name).experiments["wikitext_rates"]
    assert (rates.seeds, rates.training.epochs) == ([1, 2, 3, 4, 5], 5)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_the_papers_scale_takes_is_told(device: str):
    changes = read_yaml(STUDY.folder / "paper_scale.yaml") | {"computation": {"device": device}}
    paper = configure(changes, find_studies())
    rates = STUDY.experiments(paper.section(STUDY.name), paper.computation)["wikitext_rates"]
    # 14,645 updates on 700 words; each passes the output layer forward and twice backwards.
    least = 14_645 * 700 * 6 * 200 * 28_782
    for run in rates.runs.values():
        assert 1.04 < run.operations / least < 1.06
        assert run.minutes == time_limit(run.operations, device)
        assert getattr(run.settings, "device", None) == device
    # Tables are made by processors, whatever device trains.
    assert {getattr(job.settings, "device", None) for job in rates.metrics.values()} == {"cpu"}


def test_a_corpus_that_is_not_known_may_be_large():
    changes = {"corpora": {"wikitext2": {"train": {"sha256": "0" * 64}}}}
    found = configure({STUDY.name: changes}, find_studies())
    for experiment in STUDY.experiments(found.section(STUDY.name), found.computation).values():
        for run in experiment.runs.values():
            assert run.operations == 0
            assert run.memory > 3000


def written(folder: Path, **texts: bytes | None) -> tuple[TokenJob, list[Path]]:
    """Texts and what numbers their words; one that is None is missing."""
    for name, content in texts.items():
        if content is not None:
            (folder / name).write_bytes(content)
    digests = {name: hashlib.sha256(content or b"").hexdigest() for name, content in texts.items()}
    return TokenJob(**digests), [folder / name for name in texts]


def test_texts_become_numbers(tmp_path: Path):
    output = tmp_path / "tokens.npz"
    job, texts = written(tmp_path, train=b"a b\na c .", valid=b"B d")
    assert tokenised(job, texts, output).exit_code == 0

    corpus = Corpus.from_arrays(read_arrays(output, FILE_KEY))
    assert corpus.words == ["<unk>", "a", ".", "b", "c"]
    np.testing.assert_array_equal(corpus.train, [1, 3, 1, 4, 2])
    np.testing.assert_array_equal(corpus.valid, [3, 0])


def test_another_text_is_named_with_its_digest(tmp_path: Path):
    job, texts = written(tmp_path, train=b"a b", valid=b"c")
    other = job.model_copy(update={"train": "0" * 64})
    result = tokenised(other, texts, tmp_path / "tokens.npz")
    assert_one_sentence(result, f"{texts[0]}: its sha256 is {job.train}, expected {'0' * 64}")
    assert not (tmp_path / "tokens.npz").exists()


@pytest.mark.parametrize("train", [None, "é".encode("latin-1")], ids=["missing", "not UTF-8"])
def test_a_text_that_cannot_be_read_is_named(tmp_path: Path, train: bytes | None):
    result = tokenised(*written(tmp_path, train=train, valid=b"c"), tmp_path / "tokens.npz")
    assert_one_sentence(result, f"{tmp_path / 'train'}: cannot be read as text (")
