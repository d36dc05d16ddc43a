"use strict";
(() => {
  // All classes of a mixture differ only in the names of their tokens, and Y(0) = Z(0) = 0, so that
  // they stay alike: one class stands for all, one next token for all others, one token for all that are none.

  function dot(a, b, from = 0, to = a.length) {
    let total = 0;
    for (let i = from; i < to; i++) total += a[i] * b[i];
    return total;
  }
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // Dormand and Prince's Runge-Kutta of order 5 with the error of order 4, their (Butcher) rows of coefficients.
  const ROWS = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
  ];
  const ERROR = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];

  // The states at ascending times from 0 on, each component to a relative or absolute tolerance per step.
  function integrate(slope, start, times, tolerance = 1e-6) {
    const size = start.length;
    const moved = (state, slopes, row, step) => {
      const next = state.slice();
      for (let k = 0; k < row.length; k++) {
        for (let i = 0; i < size; i++) next[i] += step * row[k] * slopes[k][i];
      }
      return next;
    };
    let [time, state, first] = [0, start, slope(start)];
    let step = 1e-3 * times.at(-1);
    return times.map((until) => {
      while (time < until) {
        const tried = Math.min(step, until - time);
        const slopes = [first];
        let next = state;
        for (const row of ROWS) {
          next = moved(state, slopes, row, tried);
          slopes.push(slope(next));
        }
        let worst = 0;
        for (let i = 0; i < size; i++) {
          let error = 0;
          for (let k = 0; k < 7; k++) error += ERROR[k] * slopes[k][i];
          const scale = 1 + Math.max(Math.abs(state[i]), Math.abs(next[i]));
          worst = Math.max(worst, Math.abs(tried * error) / scale / tolerance);
        }
        const wanted = tried * Math.min(5, Math.max(0.2, 0.9 * worst ** -0.2));
        if (worst <= 1) {
          time = tried < until - time ? time + tried : until;
          [state, first] = [next, slopes[6]];
          step = tried < step ? Math.max(step, wanted) : wanted;
        } else step = wanted;
      }
      return state;
    });
  }

  // Sizes of a mixture, and ln P(l|n) of one class: its common tokens, then its distinct ones.
  function sizes({ num_last, next_tokens_per_query, common_weights, distinct_weights }) {
    const classes = num_last * next_tokens_per_query;
    const weights = [...common_weights, ...distinct_weights];
    const [common, distinct] = [common_weights.length, distinct_weights.length];
    return {
      classes, common, distinct, perQuery: next_tokens_per_query,
      vocabulary: common + classes * distinct + num_last + classes,
      logits: Float64Array.from(weights, (weight) => Math.log(weight / sum(weights))),
    };
  }

  // c_n and f_n on the support of a class, from the entries of z_m there.
  function attention({ logits }, z) {
    const [size, c, f] = [logits.length, logits.slice(), logits.slice()];
    let [top, total] = [-Infinity, 0];
    for (let l = 0; l < size; l++) top = Math.max(top, (c[l] += z[l]));
    for (let l = 0; l < size; l++) total += c[l] = Math.exp(c[l] - top);
    const length = Math.sqrt(dot(c, c));
    for (let l = 0; l < size; l++) {
      f[l] = c[l] / length;
      c[l] /= total;
    }
    return { c, f };
  }

  const entropy = (c) => {
    const total = sum(c);
    return -sum(c.map((value) => (value > 0 ? (value / total) * Math.log(value / total) : 0)));
  };

  // The drive on distinct tokens, sum f g / sum f^2 - f.g over them and over all (coupling.drive_on_distinct).
  const driveOnDistinct = (f, g, common) => dot(f, g, common) / dot(f, f, common) - dot(f, g);

  // Population flow (theory/population.py). State: z_l, then the entries of Y in the columns of the class's
  // own next token, of another's and of a token that is none, then B_n.
  function populationSlope(size, etaY, etaZ) {
    const { classes, common, perQuery, vocabulary, logits } = size;
    const [S, others, rest] = [logits.length, classes - 1, vocabulary - classes];
    const [rateY, rateZ] = [etaY / classes, etaZ / classes];
    return (state) => {
      const { f } = attention(size, state);
      const columns = [1, 2, 3].map((k) => state.subarray(k * S, (k + 1) * S));
      const scores = columns.map((values) => dot(f, values));
      const top = Math.max(...scores);
      const [own, other, none] = scores.map((score) => Math.exp(score - top));
      const total = own + others * other + rest * none;
      // Of a class: 1 - alpha of its own next token, and alpha of each other token.
      const [missing, toOther, toNone] = [(others * other + rest * none) / total, other / total, none / total];
      const shared = missing - others * toOther;
      const g = new Float64Array(S);
      for (let l = 0; l < S; l++) {
        g[l] = missing * columns[0][l] - others * toOther * columns[1][l] - rest * toNone * columns[2][l];
      }
      const along = dot(f, g);
      const slope = new Float64Array(state.length);
      for (let l = 0; l < S; l++) {
        const isCommon = l < common;
        slope[l] = rateZ * (isCommon ? perQuery : 1) * f[l] * (g[l] - f[l] * along);
        slope[S + l] = rateY * f[l] * (isCommon ? shared : missing);
        slope[2 * S + l] = rateY * f[l] * (isCommon ? shared : -toOther);
        slope[3 * S + l] = -rateY * f[l] * toNone * (isCommon ? classes : 1);
      }
      slope[4 * S] = rateZ * driveOnDistinct(f, g, common);
      return slope;
    };
  }

  // gamma(t) of (85) with x = M h(t/K), of which dx/dt is M eta_Y/K / ((M-1) + exp(x)) by (44).
  const gamma = (M, x) => ((M - 1) * (x / M) * (M - 1)) / (M - 1 + Math.exp(x));

  // Coefficient beta of Theorem 1 where all pairs of the K classes have the correlation rho.
  function betaOf(M, K, rho) {
    const scale = (1 - rho) * (1 + (K - 1) * rho);
    const [pair, own] = [rho / scale, (-(K - 1) * rho * rho) / scale];
    return (M / (M - 1)) * pair - (M / (M - 1) ** 2) * (own + (K - 2) * pair - 1);
  }

  // Lemma 4's (10), sampled (theory/attention.py). State: z_l, then x and B_n.
  function lemma4Slope(size, etaY, etaZ) {
    const { classes: K, common, perQuery, vocabulary: M, logits } = size;
    const S = logits.length;
    return (state) => {
      const { f } = attention(size, state);
      const rho = dot(f, f, 0, common);
      const strength = (etaZ / K) * gamma(M, state[S]) * (K - 1) * betaOf(M, K, rho);
      const slope = new Float64Array(state.length);
      for (let l = 0; l < S; l++) slope[l] = strength * f[l] ** 2 * (l < common ? perQuery * (rho - 1) : rho);
      slope[S] = (M * etaY) / K / (M - 1 + Math.exp(state[S]));
      slope[S + 1] = strength * rho;
      return slope;
    };
  }

  const along = (size, states, slope, exponent) =>
    states.map((state) => {
      const { c } = attention(size, state);
      return { c, entropy: entropy(c.slice(size.common)), exponent: state[exponent], rate: slope(state)[exponent] };
    });

  // t_0' and t_0 of Lemma 9; exp(x) = (M-1) x at its upper root, x = (1 + omega_1) ln M, by iteration.
  function phaseTimes({ classes: K, vocabulary: M }, etaY) {
    let x = 2 * Math.log(M);
    for (let i = 0; i < 200; i++) x = Math.log((M - 1) * x);
    return [(K * Math.log(M)) / etaY, (2 * K * x) / etaY];
  }

  // All curves at some times: c_n, B_n, dB_n/dt and entropy of the flow and of (10); B_n and its rate by Theorem 4.
  function solve(mixture, etaY, etaZ, times) {
    const size = sizes(mixture);
    const { classes: K, common, vocabulary: M, logits } = size;
    const S = logits.length;
    const curve = (slope, length) =>
      along(size, integrate(slope, new Float64Array(length), times), slope, length - 1);
    const lemma4 = lemma4Slope(size, etaY, etaZ);
    const states = integrate(lemma4, new Float64Array(S + 2), times);
    const { f } = attention(size, new Float64Array(S));
    const c0 = 1 / (K * dot(f, f, 0, common) ** 2);
    const theorem4 = states.map((state) => {
      const grown = (((2 * K * etaZ) / etaY) * ((M - 1) * state[S]) ** 2) / M ** 2;
      return { exponent: Math.log1p(grown / c0) / 4, rate: (etaZ * gamma(M, state[S])) / (c0 + grown) };
    });
    return {
      size, times, marks: phaseTimes(size, etaY),
      flow: curve(populationSlope(size, etaY, etaZ), 4 * S + 1),
      lemma4: along(size, states, lemma4, S + 1),
      theorem4,
    };
  }

  globalThis.scanAndSnap = Object.freeze({ solve, sizes });
})();
