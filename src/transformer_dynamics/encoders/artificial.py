"""An untrained encoder of width 8 and short made-up texts, with which a study takes seconds."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from replication.base.random_streams import generator
from transformer_dynamics.encoders.settings import TEXT_FILES, TextName

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = tuple("abcdefghijkl")
SIZES = {
    "model_type": "bert", "vocab_size": len(SPECIAL + WORDS), "hidden_size": 8,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}  # fmt: skip
TEXTS = {
    "cb": (40, 12), "trec6": (60, 24), "cr": (100, 0), "sst2_sentences": (60, 12),
    "sst2": (60, 12), "cola": (60, 12),
}  # fmt: skip
"""Sets that can be made, with their numbers of training and test samples; CR holds its own out."""
LABELS: dict[str, Sequence[str]] = {
    "cb": ("entailment", "contradiction", "neutral"),
    "trec6": tuple("012345"),
    "cr": ("0", "1"),
    "sst2_sentences": ("0", "1"),
    "sst2": ("0", "1"),
    "cola": ("0", "1"),
}
HEADERS = {"sst2": "sentence\tlabel\n"}
"""First line of a set's files, if they have one."""


def write_encoder(folder: Path) -> str:
    """Write an encoder's three files, and return the folder."""
    import torch
    from safetensors.torch import save
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModel

    folder.mkdir(parents=True, exist_ok=True)
    known = {word: number for number, word in enumerate(SPECIAL + WORDS)}
    made = Tokenizer(models.WordLevel(known, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", known["[CLS]"]), ("[SEP]", known["[SEP]"])],
    )
    given = {key: value for key, value in SIZES.items() if key != "model_type"}
    model = AutoModel.from_config(AutoConfig.for_model("bert", **given))
    random = generator(0, "made-up encoder")
    weights = {
        name: torch.from_numpy(random.normal(0, 0.3, tensor.shape).astype(np.float32))
        for name, tensor in model.state_dict().items()
        if tensor.is_floating_point()
    }
    (folder / "config.json").write_text(json.dumps(SIZES), encoding="utf-8")
    (folder / "tokenizer.json").write_text(made.to_str(), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(save(weights))
    return str(folder)


def write_texts(folder: Path, name: TextName) -> str:
    """Write the files of a set in `TEXTS`, and return the folder.

    A text has three to eight words, and its first word tells the class.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random, labels = generator(0, f"made-up {name}"), LABELS[name]
    numbers = [TEXTS[name][0], *[TEXTS[name][1]] * (len(TEXT_FILES[name]) - 1)]
    for file, number in zip(TEXT_FILES[name], numbers, strict=True):
        lines = []
        for index in range(number):
            label = index % len(labels)
            rest = random.choice(WORDS, random.integers(4, 8))
            lines.append(_line(name, labels[label], [WORDS[label], *rest]))
        whole = HEADERS.get(name, "") + "".join(f"{line}\n" for line in lines)
        (folder / file).write_text(whole, encoding="utf-8")
    return str(folder)


def _line(name: TextName, label: str, words: Sequence[str]) -> str:
    text = " ".join(words)
    if name == "sst2":
        return f"{text}\t{label}"
    if name == "cola":
        return f"made-up\t{label}\t\t{text}"
    if name != "cb":
        return f"{label} {text}"
    both = {"premise": " ".join(words[:2]), "hypothesis": " ".join(words[2:])}
    return json.dumps({"label": label} | both)
