"""A tiny encoder and small files in the formats of the published sets."""

import json

import numpy as np
from given_files import GIVEN_FILES

from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.encoders.tokens import tokenise, tokenizer

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefg")
SIZES = {
    "vocab_size": len(WORDS), "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 16, "max_position_embeddings": 40, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}  # fmt: skip
SINGLE = Texts(["a b c", "d", "e f g a b c d"], None, np.array([0, 1, 0]), ("x", "y"))


def tokens_of(texts, length=12):
    return tokenise(tokenizer(tokenizer_document()), texts, length)


def tokenizer_document():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made.to_str()


def encoder(kind="bert", prefix="", seed=0):
    """An untrained encoder as files, with a pooler that nobody wants."""
    import torch
    from safetensors.torch import save
    from transformers import AutoConfig, AutoModel

    sizes = SIZES | ({"type_vocab_size": 2} if kind == "bert" else {})
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **sizes)
    model = AutoModel.from_config(config, attn_implementation="eager")
    for tensor in model.parameters():
        tensor.data += 0.2 * torch.randn(tensor.shape)
    weights = {prefix + name: value.contiguous() for name, value in model.state_dict().items()}
    weights |= {
        "lm_head.bias": torch.zeros(3),
        f"{prefix}embeddings.position_ids": torch.arange(40),
    }
    found = Pretrained(sizes | {"model_type": kind}, tokenizer_document(), save(weights))
    return found, model.eval()


def tiny_encoder():
    """A tiny encoder: the model, that of Transformers with its weights, and its files."""
    from transformer_dynamics.encoders import model as models

    found, original = encoder()
    return models.build(found), original, found


def write_encoder(folder, pretrained):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(pretrained.config))
    (folder / "tokenizer.json").write_text(pretrained.tokenizer)
    (folder / "model.safetensors").write_bytes(pretrained.weights)
    return folder


RTE = 'index\tsentence1\tsentence2\tlabel\n0\tA "b.\tC d.\tnot_entailment\n1\tE\tF\tentailment\n'
MRPC = (
    '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t1\t2\tA " b\tA b\r\n0\t3\t4\tc\td\r\n'
)
CLINC = {
    "train": [["a b", "x"], ["c", "w"]],
    "val": [["d", "w"]],
    "test": [["e", "x"]],
    "oos_train": [["f", "oos"]],
}
CB = (
    '{"premise": "A?", "hypothesis": "b", "label": "neutral", "idx": 0}\n'
    '{"premise": "C", "hypothesis": "d", "label": "entailment", "idx": 1}\n'
)
FILES = {
    "cb": [CB, CB.replace("neutral", "contradiction")],
    "rte": [RTE, RTE.replace("A ", "B ")],
    "cola": ["gj04\t1\t\tA b.\ngj04\t0\t*\tB a.", 'gj04\t1\t\tC "d.\n'],
    "sst2": ["sentence\tlabel\na b \t0\nc\t1\n", "sentence\tlabel\nd .\t1\n"],
    "mrpc": [MRPC, "3\t4\n", MRPC],
    "trec6": ["0 What\xf0 is a ?\n5 How b\x85c ?\n2 d\n", "1 e\n"],
    "cr": ["".join(f"{i % 2} text {i // 2} .\n" for i in range(20))],
    "sst2_sentences": ["1 a cr\u00e8me\n0 b\n", "0 c\n", "1 d\n"],
    "sst5": ["4 a\n0 b\n", "2 c\n", "3 d\n"],
    "subj": ["".join(f"{i % 2} h\xe9roe {i} \n" for i in range(10))],
    "banking77": ['text,category\r\n"A\nb, c",y\r\nd,x\r\n', "text,category\r\ne,x\r\n"],
    "clinc150": [json.dumps(CLINC)],
    **GIVEN_FILES,
}
LATIN = {"trec6", "subj", "cr"}


def write_texts(folder, name):
    """The made-up files of one set, in the order of its reader."""
    from transformer_dynamics.encoders.settings import TEXT_FILES

    folder.mkdir(exist_ok=True)
    paths = [folder / file for file in TEXT_FILES[name]]
    for path, content in zip(paths, FILES[name], strict=True):
        path.write_bytes(content.encode("latin-1" if name in LATIN else "utf-8"))
    return paths
