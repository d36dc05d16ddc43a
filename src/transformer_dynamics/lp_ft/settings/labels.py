"""Names of sets, methods and encoders in texts and figures."""

from collections.abc import Iterable

METHOD_LABELS = {
    "pretrained": "Pre-trained",
    "lp": "LP",
    "ft": "FT",
    "lora": "LoRA",
    "lp_ft": "LP-FT",
    "lp_lora": "LP-LoRA",
}
"""Names of methods, in the order in which they are drawn."""
SET_LABELS = {
    "cb": "CB",
    "rte": "RTE",
    "cola": "CoLA",
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "trec6": "TREC-6",
    "cr": "CR",
    "sst2_sentences": "SST-2 sentences",
    "sst5": "SST-5",
    "subj": "Subj",
    "banking77": "BANKING77",
    "clinc150": "CLINC150",
    "boolq": "BoolQ",
    "wic": "WiC",
    "wsc": "WSC",
    "amazon": "Amazon",
    "dynasent": "DynaSent",
    "semeval": "SemEval",
    "boss_sst5": "SST-5 of BOSS",
    "pubmed": "PubMed",
}
"""Names of the study's sets, and of those that the paper's tables have."""
RUN_COLUMNS = (
    "texts", "method", "optimiser", "clip", "rate", "batch_size", "norm_of", "factor", "seed",
)  # fmt: skip
"""Columns of metrics that tell runs apart."""
ENCODER_LABELS = {"minilm": "MiniLM", "mpnet": "MPNet", "roberta": "RoBERTa-base"}
"""Names of all encoders."""
TRAINED_ON = {"dynasent": "amazon", "semeval": "amazon", "sst5": "amazon"}
"""Sets that the paper trains on, by the set out of distribution that it then tests on."""
CLASS_LABELS = {
    "cb": ("entailment", "contradiction", "neutral"),
    "rte": ("entailment", "not entailment"),
    "cr": ("negative", "positive"),
    "boolq": ("false", "true"),
    "wic": ("false", "true"),
}
"""Names of classes of sets whose kernels are drawn, see `encoders.texts`."""
PRETRAINED = "pretrained"
"""Method under which P is shown: it is the same for all, and metrics of kernels call it `all`."""


def set_label(name: str) -> str:
    """Return the name of a set."""
    return SET_LABELS.get(name, name)


def class_labels(name: str, labels: Iterable[int]) -> list[str]:
    """Return the names of classes of a set, or their numbers."""
    known = CLASS_LABELS.get(name, ())
    return [known[label] if label < len(known) else f"class {label}" for label in labels]


def ordered_methods(methods: Iterable[str]) -> list[str]:
    """Return the methods, each once, in the order in which they are drawn."""
    found = set(methods)
    return [method for method in METHOD_LABELS if method in found]
