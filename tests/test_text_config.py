"""What is refused of the settings and the texts of training on text, and in which words."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import changed

from transformer_dynamics.config import Configuration
from transformer_dynamics.errors import InputError
from transformer_dynamics.generate import DEFAULTS
from transformer_dynamics.scan_and_snap.wikitext.config import WikitextSettings
from transformer_dynamics.scan_and_snap.wikitext.corpus_file import read_corpus
from transformer_dynamics.scan_and_snap.wikitext.settings import TextModel, TokenJob
from transformer_dynamics.scan_and_snap.wikitext.stages.tokenise import main

MAPS, FIG7 = "wikitext.experiments.wikitext_maps", "wikitext.figures.fig7"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (f"{MAPS}.corpora", ["wikitext1"], "experiments > wikitext_maps > corpora: unknown key"),
        (f"{MAPS}.corpora", ["wikitext1"], "did you mean 'wikitext2'?"),
        (f"{MAPS}.corpora", ["wikitext2", "wikitext2"], "wikitext2 is repeated"),
        (f"{MAPS}.corpora", [], "at least 1 item"),
        (f"{MAPS}.models.one_layer.layer", 2, "unknown key 'layer'; did you mean 'layers'?"),
        (f"{MAPS}.models.one_layer.layers", 0, "greater than or equal to 1 (given: 0)"),
        (f"{MAPS}.models.one_layer.width", 7, "multiple of 2 (given: 7)"),
        (f"{MAPS}.models.one_layer", {}, "models > one_layer > layers: Field required"),
        (f"{MAPS}.models", {}, "at least 1 item"),
        (f"{MAPS}.models.one-layer", {"layers": 1}, "should match pattern"),
        (f"{MAPS}.learning_rates", [5, 0], "greater than 0 (given: 0)"),
        (f"{MAPS}.seeds", [1, 1], "1 is repeated"),
        (f"{MAPS}.seeds", [1.0], "valid integer"),
        (f"{MAPS}.training.epochs", 2, "training: give either updates or epochs"),
        (f"{MAPS}.training.updates", None, "training: give either updates or epochs"),
        (f"{MAPS}.training.dropout", 1, "less than 1 (given: 1)"),
        (f"{MAPS}.training.clip", float("inf"), "finite number"),
        (f"{MAPS}.training.recorded", [0, 5, 5], "5 is repeated"),
        ("wikitext.corpora.wikitext2.train.sha256", "abc", "should match pattern"),
        ("wikitext.corpora.wikitext2.train.name", "../a", "should match pattern"),
        (f"{FIG7}.experiments", ["wikitext_map"], "did you mean 'wikitext_maps'?"),
        (f"{FIG7}.seed", 9, "fig7: experiment 'wikitext_maps' has no seed 9"),
        (f"{FIG7}.iterations", [0, 50], "'wikitext_maps' does not record update 50"),
        (f"{FIG7}.experiments", ["wikitext_rates"], "must have one corpus and one rate"),
        (f"{FIG7}.drawing", "fig8", "unknown value 'fig8'; did you mean 'fig7'?"),
        ("wikitext.figures.fig10.panels", {}, "at least 1 item"),
    ],
)
def test_wrong_settings_are_named(path: str, value: Any, message: str):
    with pytest.raises(InputError) as caught:
        Configuration.parse(changed(path, value), "my.yaml")
    assert message in caught.value.message
    assert caught.value.message.startswith("my.yaml: wikitext")


def test_models_of_the_same_depth_cannot_share_figure_7():
    model = {"layers": 1, "positions": False}
    with pytest.raises(InputError, match="layers"):
        Configuration.parse(changed(f"{MAPS}.models.no_positions", model), "my.yaml")


def test_names_of_runs_tell_them_apart():
    settings: WikitextSettings = DEFAULTS.wikitext
    for name in settings.experiments:
        runs = settings.runs(name, "cpu").runs
        assert len({run.name for run in runs}) == len(runs)
    with pytest.raises(InputError, match="did you mean 'wikitext_maps'"):
        settings.runs("wikitext_map", "cpu")


def test_by_default_no_part_is_left_out():
    model = TextModel(layers=1)
    assert (model.width, model.hidden) == (200, 200)
    assert model.positions
    assert model.feed_forward
    assert model.residual


def tokenised(folder: Path, train: bytes | None, valid: bytes, digest: str | None = None) -> Result:
    """Number the words of two texts; the digest of the first is right if none is given."""
    texts = {"train": train, "valid": valid}
    for split, content in texts.items():
        if content is not None:
            (folder / split).write_bytes(content)
    found = {split: hashlib.sha256(content or b"").hexdigest() for split, content in texts.items()}
    arguments = [f"--{split}={folder / split}" for split in texts]
    found["train"] = digest or found["train"]
    settings = f"--settings={json.dumps(found)}"
    return CliRunner().invoke(main, [settings, *arguments, f"--output={folder / 'tokens.npz'}"])


def test_texts_become_numbers(tmp_path: Path):
    texts = {"train": b"a b\na c .", "valid": b"B d"}
    assert tokenised(tmp_path, **texts).exit_code == 0
    digests = {split: hashlib.sha256(text).hexdigest() for split, text in texts.items()}
    corpus = read_corpus(tmp_path / "tokens.npz", TokenJob(**digests))
    assert corpus.words == ["<unk>", "a", ".", "b", "c"]
    np.testing.assert_array_equal(corpus.train, [1, 3, 1, 4, 2])
    np.testing.assert_array_equal(corpus.valid, [3, 0])
    with pytest.raises(InputError, match=r"tokens\.npz: made by another configuration"):
        read_corpus(tmp_path / "tokens.npz", TokenJob(**digests | {"valid": "0" * 64}))


def test_another_text_is_named_with_its_digest(tmp_path: Path):
    result = tokenised(tmp_path, b"a b", b"c", "0" * 64)
    found = hashlib.sha256(b"a b").hexdigest()
    assert result.exit_code == 1
    assert f"Error: {tmp_path / 'train'}: its sha256 is {found}, expected {'0' * 64}" in (
        result.stderr
    )
    assert not (tmp_path / "tokens.npz").exists()


def test_a_missing_text_is_named(tmp_path: Path):
    result = tokenised(tmp_path, None, b"c")
    assert result.exit_code == 1
    assert f"Error: {tmp_path / 'train'}: there is no such file" in result.stderr


def test_a_text_that_is_not_utf_8_is_named(tmp_path: Path):
    result = tokenised(tmp_path, "é".encode("latin-1"), b"c")
    assert f"Error: {tmp_path / 'train'}: " in result.stderr
