"""Tables of the figures that follow from the theory alone: one row per drawn value."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from transformer_dynamics.scan_and_snap.experiments import Mixture
from transformer_dynamics.scan_and_snap.figure_settings import Fig3, Fig8, Fig9
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.theory.decoder import h_continuous, h_steps
from transformer_dynamics.scan_and_snap.theory.growth import Setting, exponent, growth_limit


def fig1_table(mixture: Mixture) -> pd.DataFrame:
    """P(l|m,n) of the first two sequence classes on all contextual tokens."""
    classes = sequence_classes(mixture)
    rows = []
    for n in range(2):
        probability = np.zeros(classes.num_contextual)
        probability[classes.support[n]] = classes.probabilities[n]
        kind = np.full(classes.num_contextual, "absent", dtype=object)
        kind[classes.support[n]] = np.where(classes.distinct[n], "distinct", "common")
        rows.append(
            pd.DataFrame(
                {
                    "sequence_class": n + 1,
                    "query_token": classes.query_tokens[classes.query[n]],
                    "next_token": classes.next_tokens[n],
                    "token": np.arange(classes.num_contextual),
                    "kind": kind,
                    "probability": probability,
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def fig3_table(figure: Fig3) -> pd.DataFrame:
    """Growth factor exp(2 B_n(t)) with the corrected B_n (Theorem 4)."""
    times = np.linspace(0, figure.last_time, figure.points)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "eta_y": eta_y,
                    "eta_z": figure.eta_z,
                    "t": times,
                    "growth_factor": growth_limit(fig3_setting(figure, eta_y), times),
                }
            )
            for eta_y in figure.eta_y
        ],
        ignore_index=True,
    )


def fig3_setting(figure: Fig3, eta_y: float) -> Setting:
    """What Theorem 4 needs for one curve of Figure 3."""
    return Setting(eta_y, figure.eta_z, figure.vocabulary_size, figure.num_classes, figure.c0)


def fig8_table(figure: Fig8) -> pd.DataFrame:
    """h*(s) by (33), constant between updates, and h(s) by (45), at s = 0, 1/4, 1/2, ..."""
    tables = []
    for index, panel in enumerate(figure.panels, start=1):
        size, quarters = panel.vocabulary_size, np.arange(4 * panel.last_step + 1)
        for eta_y in panel.eta_y:
            columns = {
                "panel": index,
                "eta_y": eta_y,
                "t": quarters / 4,
                "h_step": h_steps(eta_y, size, panel.last_step)[quarters // 4],
                "h_continuous": h_continuous(eta_y, size, quarters / 4),
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def fig9_table(figure: Fig9) -> pd.DataFrame:
    """B_n(t) as printed (129), which for C_0 = 1 is also the corrected form."""
    tables = [
        pd.DataFrame(
            {
                "panel": panel,
                "eta_y": setting.eta_y,
                "eta_z": setting.eta_z,
                "t": times,
                "growth_bound": exponent(setting, times, printed=True),
            }
        )
        for panel, setting, times in fig9_curves(figure)
    ]
    return pd.concat(tables, ignore_index=True)


def fig9_curves(figure: Fig9) -> Iterator[tuple[int, Setting, np.ndarray]]:
    """Panel, parameters and times of every curve of Figure 9."""
    for index, panel in enumerate(figure.panels, start=1):
        times = np.linspace(0, panel.last_time, figure.points)
        for eta_z in panel.eta_z:
            setting = Setting(
                panel.nu * eta_z, eta_z, panel.vocabulary_size, figure.num_classes, figure.c0
            )
            yield index, setting, times
