"use strict";
(() => {
  // Solver. All classes of a mixture differ only in the names of their tokens, and Y(0) = Z(0) = 0, so that
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

  // State: rates, time, its end, and the data, which are a mixture of the paper or of one's own (K and D).

  const RANGES = { eta_Y: [0.01, 10], eta_Z: [0.01, 10], until: [10, 20000], K: [2, 40], D: [1, 60] };
  const COMMON = 10;
  const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));
  const plain = (value, digits = 3) => Number(value.toPrecision(digits));
  const shown = (value) => plain(value).toLocaleString("en");

  // The paper's kind of mixture: weights rise evenly to 1, two classes per query.
  function ownMixture(classes, distinct) {
    const weights = Array.from({ length: distinct }, (_, i) => plain(1 - (0.9 * (distinct - 1 - i)) / (distinct - 1 || 1), 4));
    return {
      num_last: classes / 2, next_tokens_per_query: 2,
      common_weights: Array(COMMON).fill(1), distinct_weights: weights,
    };
  }

  const isSame = (one, other) => Object.keys(one).every((key) => String(one[key]) === String(other[key]));

  // What an address says; what it does not say, or says wrongly, is as at the start.
  function fromAddress(hash, { start, mixtures }) {
    const told = new URLSearchParams(hash.slice(1));
    const state = { ...start };
    for (const [key, range] of Object.entries(RANGES)) {
      const value = parseFloat(told.get(key));
      if (Number.isFinite(value)) state[key] = clamp(value, range);
    }
    if (Object.hasOwn(mixtures, told.get("mixture") ?? "")) state.mixture = told.get("mixture");
    else if (told.has("K") && told.has("D")) state.mixture = "";
    if (state.K !== undefined) state.K = 2 * Math.round(state.K / 2);
    if (state.D !== undefined) state.D = Math.round(state.D);
    if (!state.mixture && !(state.K && state.D)) state.mixture = start.mixture;
    const t = parseFloat(told.get("t"));
    state.t = Number.isFinite(t) ? clamp(t, [0, state.until]) : undefined;
    return state;
  }

  // Other parts of the page keep what they say there.
  function toAddress(hash, state) {
    const old = [...new URLSearchParams(hash.slice(1))].filter(([key, value]) => value && !(key in state) && key !== "mixture");
    const keys = ["eta_Y", "eta_Z", ...(state.mixture ? ["mixture"] : ["K", "D"]), "until", "t"];
    return `#${new URLSearchParams([...old, ...keys.map((key) => [key, state[key]])])}`;
  }

  // The overlay with which the same is trained; times of recording are evenly spaced in their logarithm.
  function overlay({ study, seeds, sampling, command }, state, mixture) {
    const steps = Math.round(state.until);
    const recorded = Array.from({ length: 40 }, (_, i) => Math.floor(steps ** (i / 40)));
    const list = (object) => JSON.stringify(object).replaceAll('"', "").replaceAll(/([:,])/g, "$1 ");
    return [
      `# ${command}`,
      `${study}:`,
      `  mixtures:`,
      `    explored: ${list(mixture)}`,
      `  experiments:`,
      `    explored:`,
      `      mixtures: [explored]`,
      `      seeds: ${list(seeds)}`,
      `      sampling: ${list({ ...sampling, steps })}`,
      `      training:`,
      `        {optimizer: sgd, momentum: 0, initialization: zero, eta_z: [${state.eta_Z}], ratio: [${plain(state.eta_Y / state.eta_Z, 12)}],`,
      `         recorded: ${list([...new Set([0, ...recorded])])}}`,
      `  figures:`,
      `    explored: {drawing: theory_vs_training, experiment: explored}`,
      ``,
    ].join("\n");
  }

  // Drawing: text of SVG from numbers.

  function ticks(top, most = 5) {
    const rough = top / most;
    const ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((factor) => factor * ten >= rough);
    return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => plain(i * step, 6));
  }
  const text = (x, y, content, anchor = "start", kind = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" class="${kind}">${content}</text>`;
  const path = (kind, d) => `<path class="${kind}" d="${d}"/>`;
  const line = (xs, ys) => xs.map((x, i) => `${i ? "L" : "M"}${x.toFixed(1)} ${ys[i].toFixed(1)}`).join("");
  const sub = (letter, index) => `${letter}<tspan dy="3" class="sub">${index}</tspan><tspan dy="-3">\u200b</tspan>`;

  // Two rows of bars; the function that is returned moves them.
  function drawBars(svg, width, { size, flow }) {
    const [left, row, gap] = [38, 128, 10];
    const { common, distinct } = size;
    const top = Math.max(...flow.flatMap(({ c }) => [...c]));
    const step = (width - left - 2 * gap) / (common + 2 * distinct);
    const height = (value) => (value / top) * (row - 34);
    const at = (l, n) => left + step * (l < common ? l : l + n * distinct) + (l < common ? 0 : (1 + n) * gap);
    const groups = [[0, common, "common", 0], [common, distinct, "only in class 1", 0], [common, distinct, "only in class 2", 1]];
    const rows = [0, 1].map((n) => {
      const base = row * (n + 1) - 18;
      const bars = Array.from(flow[0].c, (value, l) =>
        `<rect class="${l < common ? "common" : "distinct"}" x="${(at(l, n) + 0.1 * step).toFixed(2)}" width="${(0.8 * step).toFixed(2)}"/>`);
      const starts = Array.from(flow[0].c, (value, l) =>
        `M${at(l, n).toFixed(1)} ${(base - height(value)).toFixed(1)}h${step.toFixed(1)}`);
      const scale = ticks(top, 3).map((value) =>
        path("", `M${left} ${(base - height(value)).toFixed(1)}H${width}`) + text(left - 6, base - height(value) + 4, value, "end"));
      const names = groups.map(([l, count, name, of]) =>
        of && n === 0 ? "" : (of || n === 0 || l === 0) && n <= 1 ? text(at(l, of) + (count * step) / 2, base + 14, name, "middle") : "");
      return scale.join("") + bars.join("") + path("start", starts.join("")) + path("axis", `M${left} ${base + 0.5}H${width}`) +
        names.join("") + text(width, base - row + 36, `class ${n + 1}`, "end", "strong");
    });
    svg.setAttribute("viewBox", `0 0 ${width} ${2 * row}`);
    svg.innerHTML = rows.join("");
    const bars = [...svg.querySelectorAll("rect")];
    return ({ c }) => bars.forEach((bar, i) => {
      const tall = height(c[i % c.length]);
      bar.setAttribute("y", row * (i < c.length ? 1 : 2) - 18 - tall);
      bar.setAttribute("height", tall);
    });
  }

  // B_n, its rate and the entropy over time, one above the other; the cursor of the returned function moves.
  function drawCurves(svg, width, { times, marks, flow, lemma4, theorem4 }, dots) {
    const [left, last] = [38, times.at(-1)];
    const x = (t) => left + (t / last) * (width - left);
    const most = (...curves) => Math.max(...curves.flat());
    const of = (curve, key) => curve.map((point) => point[key]);
    const overPeak = (curve) => of(curve, "rate").map((value, _, all) => value / most(all));
    const exponents = [flow, lemma4, theorem4].map((curve) => of(curve, "exponent"));
    const entropies = [flow, lemma4].map((curve) => of(curve, "entropy"));
    const panels = [
      { y: 34, height: 120, title: `growth exponent ${sub("B", "n")}(t)`, curves: exponents, dots, top: 1.04 * most(...exponents, dots.map((dot) => dot[1] + dot[2])) },
      { y: 194, height: 70, title: `growth rate d${sub("B", "n")}/dt, over its peak`, curves: [flow, lemma4, theorem4].map(overPeak), dots: [], top: 1 },
      { y: 304, height: 70, title: "entropy on distinct tokens, nats", curves: entropies, dots: [], top: 1.04 * most(...entropies) },
    ];
    const drawn = panels.map(({ y: above, height, title, curves, dots, top }) => {
      const y = (value) => above + height * (1 - value / top);
      const scale = ticks(top, height / 28).map((value) => path("", `M${left} ${y(value).toFixed(1)}H${width}`) + text(left - 6, y(value) + 4, value, "end"));
      const names = ["flow", "lemma4", "theorem4"];
      const lines = curves.map((values, i) => path(names[i], line(times.map(x), values.map(y)))).reverse();
      const trained = dots.map(([t, mean, std]) => path("spread", `M${x(t).toFixed(1)} ${y(mean - std).toFixed(1)}V${y(mean + std).toFixed(1)}`) +
        `<circle class="training" cx="${x(t).toFixed(1)}" cy="${y(mean).toFixed(1)}" r="2.6"/>`);
      return scale.join("") + lines.join("") + trained.join("") + text(left, above - 9, title, "start", "strong");
    });
    const [first, end] = [panels[0].y, panels[2].y + panels[2].height];
    const phases = marks.map((t, i) => t > last ? "" : panels.map(({ y, height }) => path("turn", `M${x(t).toFixed(1)} ${y}V${y + height}`)).join("") +
      text(x(t), first - 24, i ? sub("t", "0") : sub("t", "0") + "\u2032", "middle", "strong"));
    const axis = ticks(last, width / 75).map((t) => text(x(t), end + 16, t.toLocaleString("en"), t > 0.97 * last ? "end" : "middle"));
    const cursor = path("cursor", `M0 ${first}V${end}`) + panels.map(() => `<circle class="now" cx="0" r="4.5"/>`).join("");
    const values = panels.map(({ y }) => text(width, y - 9, "", "end", "strong value"));
    svg.setAttribute("viewBox", `0 0 ${width} ${end + 36}`);
    svg.innerHTML = drawn.join("") + phases.join("") + axis.join("") + text((left + width) / 2, end + 33, "time t, updates", "middle") + `<g>${cursor}</g>` + values.join("");
    const [group, points, labels] = [svg.querySelector("g"), svg.querySelectorAll(".now"), svg.querySelectorAll(".value")];
    return (frame) => {
      group.setAttribute("transform", `translate(${x(times[frame]).toFixed(2)} 0)`);
      panels.forEach(({ y, height, curves, top }, i) => points[i].setAttribute("cy", y + height * (1 - curves[0][frame] / top)));
      const { exponent, rate, entropy } = flow[frame];
      [exponent, rate, entropy].forEach((value, i) => (labels[i].textContent = plain(value, 3)));
    };
  }

  // The panel.

  const FRAMES = 240;
  const SECONDS = 9;
  const byId = (id) => document.getElementById(`x-${id}`);
  const percent = (share) => `${plain(100 * share, 3)} %`;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const live = document.querySelector("#explorer .live");
  const inputs = Object.fromEntries([...Object.keys(RANGES), "mixture", "time"].map((name) => [name, byId(name)]));
  const STEPS = Array.from({ length: 8 }, (_, i) => data.steps.map((value) => plain(value * 10 ** (i - 3), 6))).flat();
  const choices = (name) => STEPS.filter((value) => value >= RANGES[name][0] && value <= RANGES[name][1]);
  const isLog = (name) => ["eta_Y", "eta_Z", "until"].includes(name);
  const nearest = (values, wanted) => values.reduce((best, value, i) => (Math.abs(Math.log(value / wanted)) < Math.abs(Math.log(values[best] / wanted)) ? i : best), 0);

  let state, mixture, solved, moveBars, moveCursor, playing, writing;

  function prepare() {
    for (const name of Object.keys(RANGES)) {
      const [low, high] = isLog(name) ? [0, choices(name).length - 1] : RANGES[name];
      Object.assign(inputs[name], { min: low, max: high, step: name === "K" ? 2 : 1 });
      inputs[name].addEventListener("input", () => turn(name));
    }
    const names = Object.entries(data.mixtures).map(([name, each]) => {
      const { classes, vocabulary } = sizes(each);
      return new Option(`${name} (K = ${classes}, M = ${vocabulary})`, name);
    });
    inputs.mixture.append(...names, new Option("own", ""));
    inputs.mixture.addEventListener("change", () => turn("mixture"));
    inputs.time.addEventListener("input", () => (pause(), (state.t = Number(inputs.time.value)), show(), keep()));
    byId("play").addEventListener("click", () => (playing ? pause() : play()));
    addEventListener("hashchange", restore);
    new ResizeObserver(draw).observe(byId("bars").parentElement);
  }

  function turn(name) {
    if (isLog(name)) state[name] = choices(name)[inputs[name].value];
    else if (name === "mixture") state.mixture = inputs.mixture.value;
    else {
      Object.assign(state, { K: Number(inputs.K.value), D: Number(inputs.D.value) });
      const own = ownMixture(state.K, state.D);
      state.mixture = Object.keys(data.mixtures).find((each) => isSame(own, data.mixtures[each])) ?? "";
    }
    state.t = Math.min(state.t, state.until);
    compute();
    keep();
  }

  function compute() {
    mixture = state.mixture ? data.mixtures[state.mixture] : ownMixture(state.K, state.D);
    const { classes, distinct, vocabulary } = sizes(mixture);
    Object.assign(state, { K: classes, D: distinct });
    solved = solve(mixture, state.eta_Y, state.eta_Z, Array.from({ length: FRAMES + 1 }, (_, i) => (i / FRAMES) * state.until));
    state.t ??= plain(Math.min(solved.marks[1], state.until));
    for (const name of Object.keys(RANGES)) {
      inputs[name].value = isLog(name) ? nearest(choices(name), state[name]) : state[name];
      byId(`${name}-value`).textContent = shown(state[name]);
      inputs[name].setAttribute("aria-valuetext", shown(state[name]));
    }
    inputs.mixture.value = state.mixture;
    byId("mixture-value").textContent = `M = ${vocabulary.toLocaleString("en")}`;
    Object.assign(inputs.time, { min: 0, max: state.until, step: state.until / FRAMES });
    const written = overlay(data, state, mixture);
    byId("overlay").textContent = written;
    byId("copy").dataset.copy = written;
    draw();
  }

  function draw() {
    const width = byId("bars").clientWidth;
    if (!width) return;
    const found = data.training.find((each) =>
      each.eta_Y === state.eta_Y && each.eta_Z === state.eta_Z && each.mixture === state.mixture);
    const dots = (found?.exponent ?? []).filter(([t]) => t > 0 && t <= state.until);
    byId("trained").hidden = !dots.length;
    moveBars = drawBars(byId("bars"), width, solved);
    moveCursor = drawCurves(byId("curves"), byId("curves").clientWidth, solved, dots);
    show();
  }

  function show() {
    const frame = Math.round((state.t / state.until) * FRAMES);
    const { common } = solved.size;
    const { c } = solved.flow[frame];
    moveBars(solved.flow[frame]);
    moveCursor(frame);
    inputs.time.value = state.t;
    byId("time-value").textContent = `${shown(state.t)} updates`;
    inputs.time.setAttribute("aria-valuetext", byId("time-value").textContent);
    const [scanned, snapped] = solved.marks;
    const stage = state.t < scanned ? `Scanning, until t\u2080\u2032 = ${shown(scanned)}` : state.t < snapped
      ? `Between t\u2080\u2032 = ${shown(scanned)} and t\u2080 = ${shown(snapped)}` : `Snapping, from t\u2080 = ${shown(snapped)} on`;
    if (byId("stage").textContent !== stage) byId("stage").textContent = stage;
    const rates = solved.flow.map(({ rate }) => rate);
    const peak = rates.indexOf(Math.max(...rates));
    const share = (values) => sum(values.slice(0, common));
    const numbers = `Common tokens have ${percent(share(c))} of attention, ${percent(share(solved.flow[0].c))} at the start; ` +
      `the most frequent distinct token has ${percent(Math.max(...c.slice(common)))}. Distinct tokens grow at ` +
      `${percent(rates[frame] / rates[peak])} of the peak rate, which is at update ${shown(solved.times[peak])}.`;
    byId("numbers").textContent = numbers;
    byId("bars").setAttribute("aria-label", `Attention after ${shown(state.t)} updates. ${numbers}`);
    byId("curves").setAttribute("aria-label", `Growth exponent ${plain(solved.flow[frame].exponent)}, rate ${plain(rates[frame])} per update, entropy ${plain(solved.flow[frame].entropy)} nats.`);
  }

  function play() {
    if (state.t >= state.until) state.t = 0;
    let before;
    const tick = (now) => {
      state.t = Math.min(state.until, state.t + ((now - (before ?? now)) / 1000 / SECONDS) * state.until);
      before = now;
      show();
      if (state.t < state.until) playing = requestAnimationFrame(tick);
      else pause();
    };
    playing = requestAnimationFrame(tick);
    byId("play").textContent = "Pause";
  }

  function pause() {
    if (!playing) return;
    cancelAnimationFrame(playing);
    playing = undefined;
    state.t = plain(state.t, 4);
    byId("play").textContent = "Play";
    keep();
  }

  // Browsers slow down who changes the address all the time.
  function keep() {
    clearTimeout(writing);
    writing = setTimeout(() => history.replaceState(null, "", toAddress(location.hash, state)), 200);
  }

  function restore() {
    pause();
    state = fromAddress(location.hash, data);
    compute();
    if (/[#&]eta_Y=/.test(location.hash)) document.getElementById("explorer").scrollIntoView();
  }

  live.hidden = false;
  prepare();
  restore();
  globalThis.scanAndSnap = Object.freeze({ solve, ownMixture });
})();
