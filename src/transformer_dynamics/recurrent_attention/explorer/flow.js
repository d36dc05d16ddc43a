"use strict";
(() => {
  // Two tokens in the plane and one head (theory/energy.py). A matrix is its four entries, row by row.

  const times = (m, u) => [m[0] * u[0] + m[1] * u[1], m[2] * u[0] + m[3] * u[1]];
  const transposed = ([a, b, c, d]) => [a, c, b, d];
  const dot = (u, v) => u[0] * v[0] + u[1] * v[1];
  const plus = (u, v, factor = 1) => [u[0] + factor * v[0], u[1] + factor * v[1]];
  const unit = (u) => [u[0] / Math.hypot(...u), u[1] / Math.hypot(...u)];
  const symmetric = ([a, b, c, d]) => [a, (b + c) / 2, (b + c) / 2, d];

  // w_ij = exp(beta x_i^T A x_j).
  const weights = (tokens, { a, beta }) => tokens.map((x) => tokens.map((y) => Math.exp(beta * dot(x, times(a, y)))));

  // (3): what attention gives each token, without what is along the token.
  function velocity(tokens, head) {
    const w = weights(tokens, head);
    const given = tokens.map((x) => times(transposed(head.value), x));
    return tokens.map((x, i) => {
      const total = w[i][0] + w[i][1];
      const output = [0, 1].map((k) => (w[i][0] * given[0][k] + w[i][1] * given[1][k]) / total);
      return plus(output, x, -dot(x, output));
    });
  }

  const energy = (tokens, head) => -weights(tokens, head).flat().reduce((sum, value) => sum + value, 0);

  // dE/dt, the gradient times the velocity.
  function rate(tokens, head) {
    const w = weights(tokens, head);
    const back = transposed(head.a);
    return velocity(tokens, head).reduce((sum, v, i) => sum - head.beta * tokens.reduce((inner, y, j) =>
      inner + w[i][j] * dot(v, times(head.a, y)) + w[j][i] * dot(v, times(back, y)), 0), 0);
  }

  // Runge and Kutta's method of order 4; tokens are normalised after every step.
  function stepped(tokens, head, step) {
    const moved = (slope, length) => tokens.map((x, i) => plus(x, slope[i], length));
    const first = velocity(tokens, head);
    const second = velocity(moved(first, step / 2), head);
    const third = velocity(moved(second, step / 2), head);
    const fourth = velocity(moved(third, step), head);
    return tokens.map((x, i) => unit([0, 1].map((k) =>
      x[k] + (step / 6) * (first[i][k] + 2 * second[i][k] + 2 * third[i][k] + fourth[i][k]))));
  }

  // Tokens, E and dE/dt at 0, step, 2 step, ..., from two angles in radians on.
  function solve(head, angles, until, step = 1e-3) {
    const tokens = [angles.map((angle) => [Math.cos(angle), Math.sin(angle)])];
    for (let i = 0; i < Math.round(until / step); i++) tokens.push(stepped(tokens[i], head, step));
    return {
      t: tokens.map((_, i) => i * step), tokens,
      energy: tokens.map((x) => energy(x, head)), rate: tokens.map((x) => rate(x, head)),
    };
  }

  globalThis.twoTokens = Object.freeze({ solve, symmetric });
})();
