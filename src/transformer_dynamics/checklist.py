"""The Machine Learning Reproducibility Checklist (Pineau et al., version 2.0), answered as data.

The questions are the checklist's; every number in an answer comes from the settings, the registries
and the locks, so that it changes with them. `codecheck.yml` is made of the same.
"""

from collections.abc import Sequence
from typing import Any

from transformer_dynamics.config import Configuration
from transformer_dynamics.registry import Registry
from transformer_dynamics.scan_and_snap.config import Experiment
from transformer_dynamics.scan_and_snap.experiments import Mixture
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.verification.lock import Lock

Data = dict[str, Any]
CHECKLIST = "https://www.cs.mcgill.ca/~jpineau/ReproducibilityChecklist-v2.0.pdf"
CODECHECK = "https://codecheck.org.uk/spec/config/1.0/"


def checklist(
    configuration: Configuration, registries: Sequence[Registry], locks: Sequence[Lock]
) -> Data:
    """All answers.

    Args:
        configuration: the default one.
        registries: of all parts.
        locks: of the parts that are locked.
    """
    return {
        "checklist": CHECKLIST,
        "version": "2.0",
        "paper": registries[0].title,
        "models and algorithms": _models(registries),
        "theoretical claims": _theory(registries),
        "datasets": _datasets(configuration),
        "shared code": _code(),
        "experimental results": _results(configuration, registries, locks),
    }


def codecheck(configuration: Configuration, registries: Sequence[Registry]) -> Data:
    """What `codecheck.yml` says: which files a check makes again, and of which paper."""
    texts = {name: text for registry in registries for name, text in registry.figures.items()}
    drawn = configuration.scan_and_snap.figures
    files = [
        {"file": f"figures/{name}.{kind}", "comment": f"{texts[figure.drawing].label}, {what}"}
        for name, figure in drawn.items()
        for kind, what in (("pdf", "drawn"), ("csv", "the numbers that are drawn"))
    ]
    paper = registries[0]
    return {
        "version": CODECHECK,
        "source": "An independent replication; `snakemake figures verdicts` makes all files.",
        "manifest": [*files, {"file": "results/verdicts.md", "comment": "Verdict on every claim"}],
        "paper": {
            "title": paper.title,
            "authors": [{"name": name.strip()} for name in paper.authors.split(",")],
            "reference": "https://arxiv.org/abs/2305.16380",
        },
    }


def _answer(item: str, answer: str, where: str, **evidence: Any) -> Data:
    """One answer, where it can be read, and what it rests on."""
    return {"item": item, "answer": answer, "where": where, **evidence}


def _models(registries: Sequence[Registry]) -> list[Data]:
    assumptions = [item.text for registry in registries for item in registry.assumptions]
    return [
        _answer(
            "A clear description of the mathematical setting, algorithm, and/or model.",
            "yes",
            "src/transformer_dynamics/scan_and_snap/model.py",
        ),
        _answer(
            "A clear explanation of any assumptions.",
            "yes",
            "docs/claims.md",
            assumptions=len(assumptions),
        ),
        _answer(
            "An analysis of the complexity (time, space, sample size) of any algorithm.",
            "yes",
            "docs/speed.md",
        ),
    ]


def _theory(registries: Sequence[Registry]) -> list[Data]:
    claims = [claim for registry in registries for claim in registry.claims]
    computed = [claim for claim in claims if claim.test and not claim.data]
    return [
        _answer(
            "A clear statement of the claim.",
            "yes",
            "docs/claims.md",
            claims=len(claims),
            claims_of_the_theory=len(computed),
        ),
        _answer(
            "A complete proof of the claim.",
            "not applicable",
            "docs/claims.md",
            reason="The proofs are the paper's; here its statements are computed and judged.",
        ),
    ]


def _datasets(configuration: Configuration) -> list[Data]:
    paper, corpora = configuration.scan_and_snap, configuration.wikitext.corpora
    return [
        _answer(
            "The relevant statistics, such as number of examples.",
            "yes",
            "config/config.yaml",
            synthetic={name: _mixture(mixture) for name, mixture in paper.mixtures.items()},
            sequences_per_run={
                name: experiment.sampling.steps * experiment.sampling.batch_size
                for name, experiment in paper.experiments.items()
            },
        ),
        _answer(
            "The details of train / validation / test splits.",
            "yes",
            "config/config.yaml",
            synthetic="Every batch is drawn anew; nothing is held out, as the theory has no test.",
            text={
                name: {"train": c.train.name, "valid": c.valid.name} for name, c in corpora.items()
            },
        ),
        _answer(
            "An explanation of any data that were excluded, and all pre-processing step.",
            "yes",
            "src/transformer_dynamics/scan_and_snap/wikitext/tokens.py",
            excluded="none",
        ),
        _answer(
            "A link to a downloadable version of the dataset or simulation environment.",
            "yes",
            "config/config.yaml",
            synthetic="src/transformer_dynamics/scan_and_snap/streams.py",
            sha256={
                f"{name} {file.name}": file.sha256
                for name, c in corpora.items()
                for file in (c.train, c.valid)
            },
        ),
        _answer(
            "For new data collected, a complete description of the data collection process.",
            "not applicable",
            "config/config.yaml",
            reason="No data were collected.",
        ),
    ]


def _mixture(mixture: Mixture) -> Data:
    classes = sequence_classes(mixture)
    return {
        "tokens": classes.vocabulary_size,
        "sequence_classes": len(classes.next_tokens),
        "query_tokens": mixture.num_last,
    }


def _code() -> list[Data]:
    return [
        _answer("Specification of dependencies.", "yes", "requirements.lock"),
        _answer("Training code.", "yes", "src/transformer_dynamics/scan_and_snap/training.py"),
        _answer("Evaluation code.", "yes", "src/transformer_dynamics/scan_and_snap/metrics.py"),
        _answer(
            "(Pre-)trained model(s).",
            "no",
            "results/reference/fingerprints.csv",
            reason="Every run is made again in minutes; a fingerprint of each is locked.",
        ),
        _answer(
            "README file includes table of results accompanied by precise command to run to"
            " produce those results.",
            "yes",
            "README.md",
        ),
    ]


def _results(
    configuration: Configuration, registries: Sequence[Registry], locks: Sequence[Lock]
) -> list[Data]:
    experiments = configuration.scan_and_snap.experiments
    tests = sorted({claim.test.kind for reg in registries for claim in reg.claims if claim.test})
    return [
        _answer(
            "The range of hyper-parameters considered, method to select the best hyper-parameter"
            " configuration, and specification of all hyper-parameters used to generate results.",
            "yes",
            "docs/configuration.md",
            ranges={name: _ranges(experiment) for name, experiment in experiments.items()},
            selection="none: every combination is reported",
        ),
        _answer(
            "The exact number of training and evaluation runs.",
            "yes",
            "results/reference/fingerprints.csv",
            runs={name: _runs(experiment) for name, experiment in experiments.items()},
        ),
        _answer(
            "A clear definition of the specific measure or statistics used to report results.",
            "yes",
            "docs/claims.md",
            tests=tests,
        ),
        _answer(
            "A description of results with central tendency (e.g. mean) & variation (e.g. error"
            " bars).",
            "yes",
            "README.md",
            verdicts=_verdicts(locks),
        ),
        _answer(
            "The average runtime for each result, or estimated energy cost.", "yes", "docs/speed.md"
        ),
        _answer(
            "A description of the computing infrastructure used.",
            "yes",
            "results/reference/manifest.json",
            machine=[lock.depends["machine"] for lock in locks],
        ),
    ]


def _ranges(experiment: Experiment) -> Data:
    training = experiment.training
    return {
        "optimizer": training.optimizer,
        "eta_z": training.eta_z,
        "ratio": training.ratio,
        "updates": experiment.sampling.steps,
        "seeds": len(experiment.seed_list),
    }


def _runs(experiment: Experiment) -> int:
    cells = len(experiment.training.cells) * len(experiment.mixtures)
    return cells * len(experiment.seed_list)


def _verdicts(locks: Sequence[Lock]) -> dict[str, int]:
    words = [verdict.verdict for lock in locks for verdict in lock.verdicts.values()]
    return {str(word): words.count(word) for word in sorted(set(words))}
