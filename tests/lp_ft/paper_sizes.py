"""An untrained RoBERTa-base and long made-up texts, with which a job has the paper's sizes."""

import json

from replication.base.random_streams import generator

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
WORDS = 8000
"""Number of words of texts, each of which is a token."""
ROBERTA = {
    "model_type": "roberta", "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514,
    "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}  # fmt: skip
"""Sizes of roberta-base, as its config.json has them."""


def write_roberta(folder, layers=12):
    """Write an untrained RoBERTa with all its tables; its words are made up."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModel

    folder.mkdir()
    sizes = ROBERTA | {"num_hidden_layers": layers}
    known = {word: number for number, word in enumerate([*SPECIAL, *map(word_of, range(WORDS))])}
    made = Tokenizer(models.WordLevel(known, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    torch.manual_seed(0)
    given = {key: value for key, value in sizes.items() if key != "model_type"}
    model = AutoModel.from_config(AutoConfig.for_model("roberta", **given), add_pooling_layer=False)
    (folder / "config.json").write_text(json.dumps(sizes))
    (folder / "tokenizer.json").write_text(made.to_str())
    save_file(model.state_dict(), folder / "model.safetensors")
    return str(folder)


def word_of(number):
    return f"w{number}"


def write_long_texts(folder, name, train, test, length):
    """Write a training and a test file of CoLA, or of RTE, with texts of as many tokens."""
    folder.mkdir()
    random = generator(0, "long texts")
    for file, number in (("train.tsv", train), ("dev.tsv", test)):
        lines = ["sentence1\tsentence2\tlabel"] if name == "rte" else []
        for index in range(number):
            words = [word_of(each) for each in random.integers(0, WORDS, length)]
            if name == "rte":
                # Four special tokens.
                first, second = " ".join(words[: length // 2]), " ".join(words[length // 2 : -4])
                label = "entailment" if index % 2 else "not_entailment"
                lines.append(f"{first}\t{second}\t{label}")
            else:
                lines.append(f"made-up\t{index % 2}\t\t{' '.join(words[:-2])}")
        (folder / file).write_text("\n".join([*lines, ""]))
    return str(folder)
