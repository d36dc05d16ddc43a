"""Tables of the errata: the findings that are drawn, and every statement with its evidence."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from transformer_dynamics.markdown import table
from transformer_dynamics.scan_and_snap.experiments import MeasureJob, Mixture
from transformer_dynamics.scan_and_snap.figure_settings import Errata
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes
from transformer_dynamics.scan_and_snap.tables import mean_and_std
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.coupling import initial_correlations
from transformer_dynamics.scan_and_snap.theory.errata import all_errata
from transformer_dynamics.scan_and_snap.theory.evidence import Evidence
from transformer_dynamics.scan_and_snap.theory.findings import finding_a, finding_b, finding_c
from transformer_dynamics.scan_and_snap.theory.frozen import frozen_flow
from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations


def findings_table(figure: Errata, metrics: pd.DataFrame, job: MeasureJob) -> pd.DataFrame:
    """Findings A, B and C as curves.

    Args:
        figure: the figure's settings.
        metrics: entropy of the long training runs, one row per seed and recorded update.
        job: the job that made the metrics; one mixture.

    Returns:
        Columns panel, curve, x, y, y_std, n_seeds; only panel C has several seeds.
    """
    tables = [
        *_modified_dynamics(figure),
        _assumption_2(figure, job),
        _length(figure, metrics, job),
    ]
    return pd.concat(tables, ignore_index=True)


def _modified_dynamics(figure: Errata) -> Iterator[pd.DataFrame]:
    """A: xi_n of the true (7) and the modified (26) decoder, against eta_Y t/K."""
    x = np.linspace(0, figure.passes, 251)
    for rho in figure.correlations:
        e = equal_correlations(figure.num_classes, rho)
        for name, modified in (("true (7)", False), ("modified (26)", True)):
            flow = frozen_flow(
                e, figure.vocabulary_size, 1.0, x * figure.num_classes, modified=modified
            )
            y = flow.drive[:, 0]
            yield _curve("A", rf"{name}, $\rho={rho:g}$", x, y)


def _assumption_2(figure: Errata, job: MeasureJob) -> pd.DataFrame:
    """B: largest eigenvalue of E at Z = 0 against its limit 1/K, for the paper's own mixtures."""
    (mixture,) = job.mixtures.values()
    checks = []
    for num_last in figure.num_last:
        classes = sequence_classes(mixture.model_copy(update={"num_last": num_last}))
        checks.append(assumption_2(initial_correlations(classes), classes.vocabulary_size))
    x = [num_last * mixture.next_tokens_per_query for num_last in figure.num_last]
    largest = _curve("B", r"$|\lambda_1(E)|$", x, [check.largest for check in checks])
    limit = _curve("B", "limit $1/K$", x, [check.largest_limit for check in checks])
    return pd.concat([largest, limit])


def _length(figure: Errata, metrics: pd.DataFrame, job: MeasureJob) -> pd.DataFrame:
    """C: entropy on distinct tokens against the number of updates."""
    chosen = metrics[metrics["eta_z"] == figure.eta_z]
    means = mean_and_std(chosen, ["ratio", "iteration"], job)
    return pd.DataFrame(
        {
            "panel": "C",
            "curve": [rf"$\eta_Y/\eta_Z={ratio:g}$" for ratio in means["ratio"]],
            "x": means["iteration"],
            "y": means["entropy_mean"],
            "y_std": means["entropy_std"],
            "n_seeds": means["n_seeds"],
        }
    )


def _curve(panel: str, name: str, x: object, y: object) -> pd.DataFrame:
    return pd.DataFrame({"panel": panel, "curve": name, "x": x, "y": y, "n_seeds": 0})


def all_evidence(
    mixtures: dict[str, Mixture], figure: Errata, metrics: pd.DataFrame
) -> list[Evidence]:
    """E1-E7 and findings A-C, each computed.

    Args:
        mixtures: data models that Assumption 2 is held against, by name.
        figure: settings of finding A, and the learning rate of finding C.
        metrics: entropy of the long training runs.
    """
    classes: dict[str, SequenceClasses] = {
        name: sequence_classes(mixture) for name, mixture in mixtures.items()
    }
    lowest = metrics["ratio"].min()
    runs = metrics[(metrics["eta_z"] == figure.eta_z) & (metrics["ratio"] == lowest)]
    entropies = {
        int(str(updates)): rows.sort_values("seed")["entropy"].to_numpy()
        for updates, rows in runs.groupby("iteration")
        if int(str(updates)) >= figure.first_update
    }
    return [
        *all_errata(),
        finding_a(figure.num_classes, figure.vocabulary_size, tuple(figure.correlations)),
        finding_b(classes),
        finding_c(entropies),
    ]


def to_markdown(evidence: list[Evidence]) -> str:
    """The table "printed / corrected / evidence"."""
    rows = (
        (
            item.id,
            item.printed,
            item.corrected,
            "<br>".join(f"{name}: {value:.4g}" for name, value in item.evidence.items()),
            "yes" if item.holds else "NO",
        )
        for item in evidence
    )
    return "\n".join(
        [
            "# Errata and findings",
            "",
            "Every number is computed when this file is made: `snakemake errata`.",
            "",
            *table(("id", "printed", "corrected", "evidence", "holds"), rows),
            "",
        ]
    )
