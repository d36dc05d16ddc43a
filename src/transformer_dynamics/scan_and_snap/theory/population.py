"""The population flow: gradient ascent on the expected objective with infinitely long sequences.

Y and Z move together and nothing is approximated (Eqs. 3 and 4 with Lemma 2, classes uniform):

    Ydot   = eta_Y/K sum_n f_n (e_n - alpha_n)^T
    zdot_m = eta_Z/K sum_{n in psi^{-1}(m)} diag(f_n) (I - f_n f_n^T) g_n,  g_n = Y (e_n - alpha_n)

Time counts single-sample updates. Only the rows of Y of contextual tokens move, and of a row of Z
only the entries of tokens that precede its query. Tokens that are no class's next token and start
with equal columns of Y keep equal columns, so one column stands for all of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from transformer_dynamics.scan_and_snap.theory.assumptions import require_classes, require_rate
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.coupling import (
    correlations,
    distinct_columns,
    drive_on_distinct,
    e_prime,
)
from transformer_dynamics.scan_and_snap.theory.integration import (
    integrate,
    require_ascending_times,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, Ints, SequenceClasses


class PopulationFlow(NamedTuple):
    """A solution of the population flow."""

    attention_logits: Floats
    """[T, L, M] Rows z_m of Z."""
    attention: Floats
    """[T, K, S] Attention c_n on the support of each class."""
    exponents: Floats
    """[T, K] Exponent B_n(t) = eta_Z/K int_0^t xi_n, with class n's sampling probability; NaN as
    `drive`."""
    drive: Floats
    """[T, K] Drive xi_n(t) as the distinct tokens feel it; NaN for a class without them."""
    columns: Ints
    """[M] Index of each token's column in `decoder_columns`."""
    decoder_columns: Floats
    """[T, M, G] Columns of Y that differ."""

    def decoder(self, index: int) -> Floats:
        """Return [M, M] Y at one of the times."""
        return np.asarray(self.decoder_columns[index][:, self.columns])


class _System:
    """The right-hand side for one mixture."""

    def __init__(
        self,
        classes: SequenceClasses,
        eta_y: float,
        eta_z: float,
        decoder: Floats,
        *,
        modified: bool,
    ) -> None:
        self.classes, self.modified = classes, modified
        self.num_classes, self.tokens = len(classes.support), classes.num_contextual
        self.rates = eta_y / self.num_classes, eta_z / self.num_classes
        self.columns, self.copies, first = _equal_columns(decoder, classes.next_tokens)
        self.start = decoder[:, first]
        self.target = np.zeros((len(first), self.num_classes))
        self.target[self.columns[classes.next_tokens], np.arange(self.num_classes)] = 1
        self.distinct = distinct_columns(classes)[: self.tokens]
        self.log_probability = np.full((self.tokens, self.num_classes), -np.inf)
        np.put_along_axis(
            self.log_probability, classes.support.T, np.log(classes.probabilities).T, axis=0
        )
        shape = len(classes.query_tokens), self.tokens
        self.shapes = (self.num_classes,), (self.tokens, len(first)), shape
        self.splits = np.cumsum([np.prod(s) for s in self.shapes])[:-1]

    def split(self, state: Floats) -> list[Floats]:
        """Return B_n [..., K], Y on contextual tokens [..., C, G] and Z on them [..., L, C]."""
        parts = np.split(state, self.splits, axis=-1)
        return [
            part.reshape(*state.shape[:-1], *shape)
            for part, shape in zip(parts, self.shapes, strict=True)
        ]

    def features(self, z: Floats) -> Floats:
        """Return [C, K] F on the contextual tokens."""
        weights = self.log_probability + z[self.classes.query].T
        c = np.exp(weights - weights.max(axis=0))
        return np.asarray(c / np.linalg.norm(c, axis=0))

    def predictions(self, f: Floats, y: Floats) -> Floats:
        """Return [G, K] alpha_n of one token of each column."""
        scores = y.T @ f
        return np.asarray(np.exp(scores - logsumexp(scores, axis=0, b=self.copies[:, None])))

    def feature_gradient(self, alpha: Floats, y: Floats) -> Floats:
        """Return [C, K] g_n as columns."""
        return np.asarray(y @ (self.target - alpha * self.copies[:, None]))

    def slope(self, _time: float, state: Floats) -> Floats:
        """Return the time derivative of the state."""
        _, y, z = self.split(state)
        f = self.features(z)
        alpha = self.predictions(f, y)
        g = self.feature_gradient(alpha, y)
        eta_y, eta_z = self.rates
        direction = f - f @ e_prime(correlations(f)) if self.modified else f
        toward = eta_z * f * (g - f * (f * g).sum(axis=0))
        z_rate = np.zeros_like(z)
        np.add.at(z_rate, self.classes.query, toward.T)
        y_rate = eta_y * direction @ (self.target - alpha).T
        return np.concatenate(
            [eta_z * np.nan_to_num(self.drive(g, f)), y_rate.ravel(), z_rate.ravel()]
        )

    def state(self, logits: Floats) -> Floats:
        """Return the state at the start, with [L, M] Z(0)."""
        start = self.start[: self.tokens].ravel(), logits[:, : self.tokens].ravel()
        return np.concatenate([np.zeros(self.num_classes), *start])

    def drive_of_state(self, y: Floats, z: Floats) -> Floats:
        """Return [K] xi_n of Y and Z on the contextual tokens."""
        f = self.features(z)
        return self.drive(self.feature_gradient(self.predictions(f, y), y), f)

    def drive(self, g: Floats, f: Floats) -> Floats:
        """Return [K] xi_n, NaN for a class without distinct tokens."""
        has = self.distinct.any(axis=0)
        xi = np.full(self.num_classes, np.nan)
        if has.any():
            xi[has] = drive_on_distinct(g[:, has], f[:, has], self.distinct[:, has])
        return xi


def population_flow(
    classes: SequenceClasses,
    eta_y: float,
    eta_z: float,
    times: ArrayLike,
    *,
    modified: bool = False,
    start: ArrayLike | None = None,
    decoder: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> PopulationFlow:
    """Integrate the population flow at [T] ascending times, in updates.

    It starts from `start` [L, M] Z(0) and `decoder` [M, M] Y(0), by default 0. If `modified`, Y
    moves by the paper's (26), f_n - F E' e_n instead of f_n, with F and E' of the moment. The
    tolerance is both relative and absolute. Raise InputError for rates <= 0, K > M, negative or
    descending times, or, if `modified`, for classes whose F has dependent columns.
    """
    t = require_ascending_times(times)
    size = classes.vocabulary_size
    require_rate(eta_Y=eta_y, eta_Z=eta_z)
    require_classes(len(classes.support), size)
    y, logits = (
        np.zeros((rows, size)) if given is None else np.asarray(given, dtype=np.float64)
        for rows, given in ((size, decoder), (len(classes.query_tokens), start))
    )
    system = _System(classes, eta_y, eta_z, y, modified=modified)
    states = integrate(system.slope, system.state(logits), t, tolerance)
    exponents, decoders, z = system.split(states)
    full = np.tile(logits, (len(states), 1, 1))
    full[:, :, : system.tokens] = z
    decoder = np.tile(system.start, (len(states), 1, 1))
    decoder[:, : system.tokens] = decoders
    drive = np.array([system.drive_of_state(*now) for now in zip(decoders, z, strict=True)])
    return PopulationFlow(
        attention_logits=full,
        attention=attention_weights(classes, full),
        exponents=np.where(np.isnan(drive), np.nan, exponents),
        drive=drive,
        columns=system.columns,
        decoder_columns=decoder,
    )


def _equal_columns(decoder: Floats, next_tokens: Ints) -> tuple[Ints, Floats, Ints]:
    """Group the columns of Y that are and stay equal; a next token's column stands alone.

    Return [M] group of each token, [G] size of each group and [G] a token of each group.
    """
    marks = np.zeros(len(decoder))
    marks[next_tokens] = 1 + np.arange(len(next_tokens))
    _, first, columns, copies = np.unique(
        np.vstack([marks, decoder]),
        axis=1,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return columns.ravel(), copies.astype(np.float64), first
