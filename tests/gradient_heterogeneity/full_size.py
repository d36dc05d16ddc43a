"""Files of the papers' sizes: untrained networks, and texts in which all their words occur."""

import json
from pathlib import Path

import numpy as np

from replication.base.random_streams import generator
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.gradient_heterogeneity.data import synthetic

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
SIZES = {
    "model_type": "roberta", "vocab_size": 50_265, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514,
    "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}  # fmt: skip
"""Those of `roberta-base`."""
VIT_S = {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6, "mlp_ratio": 4,
         "image_size": 518}  # fmt: skip
"""Those of the published ViT-S/14."""


def write_roberta(folder: Path) -> str:
    """Write the three files of an encoder of the size of `roberta-base`, and return the folder."""
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModel

    folder.mkdir(parents=True)
    words = [*SPECIAL, *(f"w{index}" for index in range(SIZES["vocab_size"] - len(SPECIAL)))]
    known = {word: number for number, word in enumerate(words)}
    made = Tokenizer(models.WordLevel(known, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    given = {key: value for key, value in SIZES.items() if key != "model_type"}
    config = AutoConfig.for_model("roberta", **given)
    model = AutoModel.from_config(config, add_pooling_layer=False)
    (folder / "config.json").write_text(json.dumps(SIZES), encoding="utf-8")
    (folder / "tokenizer.json").write_text(made.to_str(), encoding="utf-8")
    save_file(dict(model.named_parameters()), folder / "model.safetensors")
    return str(folder)


def write_texts(folder: Path, name: TextName, number: int, length: int = 126) -> str:
    """Write texts of words of the encoder, all of which occur if there is room.

    Args:
        folder: where.
        name: `cola`, `sst2` or `trec6`.
        number: of training texts; there are two test texts.
        length: words of a text.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True)
    words = generator(0, "made-up words").permutation(SIZES["vocab_size"] - len(SPECIAL))
    rows = np.resize(words, (number, length))
    head, line = {
        "cola": ("", "made-up\t{label}\t\t{text}\n"),
        "sst2": ("sentence\tlabel\n", "{text}\t{label}\n"),
        "trec6": ("", "{label} {text}\n"),
    }[name]
    files = ("TREC.train.all", "TREC.test.all") if name == "trec6" else ("train.tsv", "dev.tsv")
    for file, part in zip(files, (rows, rows[:2, ::-1]), strict=True):
        lines = (
            line.format(label=index % 2, text=" ".join(f"w{word}" for word in row))
            for index, row in enumerate(part)
        )
        (folder / file).write_text(head + "".join(lines), encoding="utf-8")
    return str(folder)


def write_running(folder: Path) -> str:
    """Write a running text about as long as WikiText-2, and return the folder."""
    folder.mkdir(parents=True)
    text = " ".join(f"w{word}" for word in range(5000))
    (folder / "train.txt").write_text(f"{text}\n" * 410, encoding="utf-8")
    return str(folder)


def write_images(folder: Path, monkeypatch) -> str:
    """Write as many images as Fashion-MNIST has, and return the folder."""
    monkeypatch.setattr(synthetic, "IMAGES", (60_000, 10_000))
    return synthetic.write_images(folder)


def write_vit(folder: Path, monkeypatch) -> str:
    """Write a vision transformer of the published size, and return the folder."""
    monkeypatch.setattr(synthetic, "VIT", synthetic.VIT | VIT_S)
    return synthetic.write_vit(folder)


def write_efficientnet(folder: Path) -> str:
    """Write a convolutional network of the published size, and return the folder."""
    import torch

    folder.mkdir(parents=True)
    tensors = synthetic.efficientnet_tensors(stem=32, blocks=16)
    torch.save(tensors, folder / "efficientnet-lite0.pth")
    return str(folder)
