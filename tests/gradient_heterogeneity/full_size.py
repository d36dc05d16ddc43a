"""Files of the papers' sizes: an untrained RoBERTa-base, and texts of 128 tokens of all its words."""

import json
from pathlib import Path

import numpy as np

from replication.base.random_streams import generator

LENGTH = 128
"""Tokens of every text."""
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
SIZES = {
    "model_type": "roberta", "vocab_size": 50_265, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514,
    "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}  # fmt: skip
"""Those of `roberta-base`."""
DEVIATION = 0.02
"""Standard deviation of the weights, which are random."""


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
    # Its own draw of weights.
    model = AutoModel.from_config(config, add_pooling_layer=False)
    (folder / "config.json").write_text(json.dumps(SIZES), encoding="utf-8")
    (folder / "tokenizer.json").write_text(made.to_str(), encoding="utf-8")
    save_file(dict(model.named_parameters()), folder / "model.safetensors")
    return str(folder)


def write_cola(folder: Path, texts: int) -> str:
    """Write CoLA's files, with texts in which every word of the encoder occurs if there is room.

    Args:
        folder: where.
        texts: number of the training texts.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True)
    number = SIZES["vocab_size"] - len(SPECIAL)
    words = np.resize(generator(0, "made-up words").permutation(number), (texts, LENGTH - 2))
    for name, rows in (("train.tsv", words), ("dev.tsv", words[:2, ::-1])):
        lines = [
            f"made-up\t{index % 2}\t\t{' '.join(f'w{word}' for word in row)}\n"
            for index, row in enumerate(rows)
        ]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return str(folder)
