"""Errata of the paper's formulas: as printed and as they hold (E1 to E6, E7, E9)."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing
    from numpy.typing import ArrayLike

    Curves = Iterator[tuple[str, ArrayLike, ArrayLike]]

PRINTED, HOLDS = "as printed", "what holds"


class Errata(Figure):
    """Formulas as printed, and as they hold."""

    title: ClassVar[str] = "Scan and Snap: errata, as printed and what holds instead"
    columns: ClassVar[tuple[str, ...]] = ("claim", "curve", "x", "y")
    kind: Literal["errata"]
    """Kind of the figure."""


class Panel(NamedTuple):
    """The curves of one erratum, and the labels of their axes."""

    curves: "Callable[[], Curves]"
    """Function that gives name, x and y of each curve."""
    what: str
    """Subject of the erratum."""
    quantity: str
    """Quantity on the axis of y, for the title."""
    against: str
    """Label of the axis of x."""
    scale: str = "linear"
    """Scale of this axis."""


def table(figure: Errata) -> "pd.DataFrame":
    """Return both curves of every erratum."""
    import numpy as np
    import pandas as pd

    tables = [
        pd.DataFrame({"claim": claim, "curve": name, "x": x, "y": np.array(y, np.float64)})
        for claim, panel in PANELS.items()
        for name, x, y in panel.curves()
    ]
    return pd.concat(tables, ignore_index=True)


def _sign_of_e_prime() -> "Curves":
    """Yield E'_12 of two classes with f_1.f_2 = rho: rho/(1-rho^2) by Lemma 14."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.coupling import e_prime
    from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations

    rho = np.linspace(0, 0.5, 51)
    for name, printed in ((PRINTED, True), (HOLDS, False)):
        yield name, rho, [e_prime(equal_correlations(2, r), printed=printed)[0, 1] for r in rho]


def _late_speed() -> "Curves":
    """Yield gamma over its form, where it is largest for t >= t_0, by M; K = 10, eta_Y = 1."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.decoder import gamma, snapping_start

    sizes = np.logspace(2, 12, 41)
    for name, printed in ((PRINTED, True), (HOLDS, False)):
        largest = []
        for size in sizes.round().astype(int).tolist():
            seen = snapping_start(1.0, size, 10) * np.logspace(0, 4, 100) / 10
            log = np.log(seen * (1 if printed else size))
            largest.append((gamma(1.0, size, 10, 10 * seen) * seen / log).max())
        yield name, sizes, largest


def _sign_in_beta() -> "Curves":
    """Yield beta_12 of two classes with f_1.f_2 = rho among 34 tokens."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.coupling import theorem1_coefficients
    from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations

    rho = np.linspace(0, 0.2, 41)
    for name, printed in ((PRINTED, True), (HOLDS, False)):
        beta = [
            theorem1_coefficients(equal_correlations(2, r), 34, printed=printed).beta[0, 1]
            for r in rho
        ]
        yield name, rho, beta


def _slower_logits() -> "Curves":
    """Yield w_nn/((M-1) h*) after 50 passes of the original update; K = 4, M = 1,000."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.updates import remark_1

    rho = np.linspace(0.05, 0.75, 8)
    runs = [remark_1(4, 1000, r, eta_y=0.1, passes=50) for r in rho]
    alone = [run.scaled / (1 - r) for run, r in zip(runs, rho, strict=True)]
    yield PRINTED, rho, 1 - rho
    yield HOLDS, rho, [run.simulated / w for run, w in zip(runs, alone, strict=True)]


def _speed_of_the_common_token() -> "Curves":
    """Yield -zdot_ml/(eta_Z xi_n) of the only common token, by K."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.claims.errata import common_token_speed

    num_classes = np.arange(2, 21)
    yield PRINTED, num_classes, np.ones(len(num_classes))
    yield HOLDS, num_classes, [common_token_speed(k) for k in num_classes.tolist()]


def _integral_of_the_drive() -> "Curves":
    """Yield B_n(t) in the setting of Figure 3 at eta_Y = 1, C_0 = 0.00625."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.growth import Setting, exponent

    setting = Setting(1.0, 0.5, 1000, 10, 0.00625)
    times = np.linspace(0, 200, 201)
    for name, printed in ((PRINTED, True), (HOLDS, False)):
        yield name, times, exponent(setting, times, printed=printed)


def _inverted_ratio() -> "Curves":
    """Yield B(t_0), and (131) for it with nu = eta_Z/eta_Y; M = 100, K = C_0 = 1."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.growth import (
        Setting,
        exponent,
        late_exponent,
        phase_times,
    )

    ratios = np.logspace(-1, 1, 41)
    inverted = [Setting(1.0, nu, 100, 1) for nu in ratios]
    settings = [Setting(nu, 1.0, 100, 1) for nu in ratios]
    yield PRINTED, ratios, [late_exponent(each, phase_times(each)[1]) for each in inverted]
    yield HOLDS, ratios, [exponent(each, phase_times(each)[1]) for each in settings]


def _lasting_shift() -> "Curves":
    """Yield the least c with h(s + c) = h*(s), M = 1,000, eta_Y = 1; as printed it stands still."""
    import numpy as np

    from transformer_dynamics.scan_and_snap.theory.decoder import h_steps, h_time

    steps = np.unique(np.geomspace(10, 1e5, 81).astype(int))
    shift = h_time(1.0, 1000, h_steps(1.0, 1000, int(steps[-1]))[steps]) - steps
    late = steps >= 1000
    yield PRINTED, steps[late], np.full(late.sum(), shift[late][0])
    yield HOLDS, steps, shift


PANELS = {
    "E1": Panel(_sign_of_e_prime, "a sign", "$E'_{12}$", r"$f_1^\top f_2$"),
    "E2": Panel(_late_speed, "late speed", r"$\gamma$ / its form", "$M$", "log"),
    "E3": Panel(_sign_in_beta, "a sign", r"$\beta_{12}$", r"$f_1^\top f_2$"),
    "E4": Panel(_slower_logits, "slower logits", "$w_{nn}/(M-1)h^*$", r"$f_n^\top f_{n'}$"),
    "E5": Panel(_speed_of_the_common_token, "common token", r"$-\dot z_{ml}/\eta_Z\xi_n$", "$K$"),
    "E6": Panel(_integral_of_the_drive, "value at 0", "$B_n(t)$", "$t$"),
    "E7": Panel(_inverted_ratio, "inverted ratio", "$B_n(t_0)$", r"$\eta_Y/\eta_Z$", "log"),
    "E9": Panel(_lasting_shift, "a lasting drift", "shift $c$", "$s$", "log"),
}


def draw(figure: Errata, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one panel per erratum: dashed as printed, solid what holds."""
    from replication.figures.style import CATEGORIES

    drawing, panels = make_panels(2, 4, 3.6)
    styles = {HOLDS: ("-", CATEGORIES[0]), PRINTED: ("--", CATEGORIES[1])}
    for axes, (claim, panel) in zip(panels.flat, PANELS.items(), strict=True):
        for name, (line, colour) in styles.items():
            rows = table[(table["claim"] == claim) & (table["curve"] == name)]
            axes.plot(rows["x"], rows["y"], line, color=colour, label=name)
        axes.set(
            xscale=panel.scale,
            xlabel=panel.against,
            title=f"{claim}: {panel.what}\n{panel.quantity}",
        )
    legend_below(drawing)
    return drawing
