"use strict";
(() => {
  const { solve, sizes } = globalThis.scanAndSnap;
  const { FRAMES, data, byId, plain, ticks, text, path, line, level, sub, drawPanels, read, set, play } = globalThis.explorers;
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // State: rates, time, its end, and the data, which are a mixture of the paper or of one's own (K, C, D).

  const RANGES = { eta_Y: [0.01, 10], eta_Z: [0.01, 10], until: [10, 20000], K: [2, 40], C: [1, 20], D: [1, 60] };
  const COUNTS = ["K", "C", "D"];
  const shown = (value) => plain(value, 3).toLocaleString("en");

  // The paper's kind of mixture: weights rise evenly to 1, two classes per query.
  function ownMixture({ K: classes, C: common, D: distinct }) {
    const weights = Array.from({ length: distinct }, (_, i) => plain(1 - (0.9 * (distinct - 1 - i)) / (distinct - 1 || 1), 4));
    return {
      num_last: classes / 2, next_tokens_per_query: 2,
      common_weights: Array(common).fill(1), distinct_weights: weights,
    };
  }

  const isSame = (one, other) => Object.keys(one).every((key) => String(one[key]) === String(other[key]));

  // What an address says; what it does not say, or says wrongly, is as at the start.
  function fromAddress(told) {
    const state = { ...data.start, ...read(told, RANGES) };
    if (Object.hasOwn(data.mixtures, told.get("mixture") ?? "")) state.mixture = told.get("mixture");
    else if (COUNTS.every((key) => key in state)) {
      state.mixture = "";
      for (const key of COUNTS) state[key] = Math.round(state[key]);
      state.K += state.K % 2;
    }
    return { ...state, t: undefined, ...read(told, { t: [0, state.until] }) };
  }

  // The overlay with which the same is trained; times of recording are evenly spaced in their logarithm.
  function overlay({ study, seeds, seeds_per_job, most_numbers, sampling, command }, state, mixture) {
    const steps = Math.round(state.until);
    const recorded = Array.from({ length: 40 }, (_, i) => Math.floor(steps ** (i / 39)));
    // A job holds how often each token of a class is in each sequence of all its seeds.
    const kinds = mixture.common_weights.length + mixture.distinct_weights.length;
    const fitting = Math.floor(most_numbers / (steps * sampling.batch_size * kinds));
    const list = (object) => JSON.stringify(object).replaceAll('"', "").replaceAll(/([:,])/g, "$1 ");
    return [
      `# ${command}`,
      ...(fitting < seeds_per_job ? [`computation: {seeds_per_job: ${fitting}}`] : []),
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
      `    explored: {kind: theory_vs_training, experiment: explored}`,
      ``,
    ].join("\n");
  }

  // Drawing.

  // Two rows of bars; the function that is returned moves them.
  function drawBars(svg, width, { size, flow }) {
    const [left, row, gap] = [38, width > 340 ? 140 : 118, 10];
    const { common, distinct } = size;
    const top = Math.max(...flow.flatMap(({ c }) => [...c]));
    const step = (width - left - 2 * gap) / (common + 2 * distinct);
    const height = (value) => (value / top) * (row - 34);
    const at = (l, n) => left + step * (l < common ? l : l + n * distinct) + (l < common ? 0 : (1 + n) * gap);
    const rows = [0, 1].map((n) => {
      const base = row * (n + 1) - 18;
      const bars = Array.from(flow[0].c, (value, l) =>
        `<rect class="${l < common ? "common" : "distinct"}" x="${(at(l, n) + 0.1 * step).toFixed(2)}" width="${(0.8 * step).toFixed(2)}"/>`);
      const starts = Array.from(flow[0].c, (value, l) =>
        `M${at(l, n).toFixed(1)} ${(base - height(value)).toFixed(1)}h${step.toFixed(1)}`);
      const scale = ticks(0, top, 3).map((value) => level(left, width, base - height(value), value));
      // In the middle of its bars, but for a name that would not end before the edge.
      const names = [[0, common, "common"], [common, distinct, `only in class ${n + 1}`]].map(([l, count, name]) =>
        text(Math.min(at(l, n) + (count * step) / 2, width - 3.2 * name.length), base + 14, name, "middle"));
      return scale.join("") + bars.join("") + path("start", starts.join("")) + path("axis", `M${left} ${base + 0.5}H${width}`) +
        names.join("") + text(width, base - row + 27, `class ${n + 1}`, "end", "strong");
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
  function drawCurves(svg, width, { times, marks, flow, lemma4, theorem4 }, trained) {
    const [left, last] = [38, times.at(-1)];
    const x = (t) => left + (t / last) * (width - left);
    const dots = trained.filter((dot, i) => i === 0 || Math.floor(x(dot[0]) / 9) > Math.floor(x(trained[i - 1][0]) / 9));
    const most = (...curves) => Math.max(...curves.flat());
    const of = (curve, key) => curve.map((point) => point[key]);
    const overPeak = (curve) => of(curve, "rate").map((value, _, all) => value / most(all));
    const exponents = [flow, lemma4, theorem4].map((curve) => of(curve, "exponent"));
    const entropies = [flow, lemma4].map((curve) => of(curve, "entropy"));
    // At least a tenth of a nat high; where there is one distinct token, entropy is 0.
    const highest = most(...entropies) + 0.01;
    const lowest = Math.max(0, Math.min(...entropies.flat(), highest - 0.1) - 0.01);
    const panels = [
      { y: 34, height: 120, title: `growth exponent ${sub("B", "n")}(t)`, curves: exponents, dots, bottom: 0, top: 1.04 * most(...exponents, dots.map((dot) => dot[1] + dot[2])) },
      { y: 194, height: 70, title: "growth rate, over its peak", curves: [flow, lemma4, theorem4].map(overPeak), dots: [], bottom: 0, top: 1 },
      { y: 304, height: 70, title: "entropy on distinct tokens, nats", curves: entropies, dots: [], bottom: lowest, top: highest },
    ];
    const drawn = panels.map(({ y: above, height, curves, dots, bottom, top }) => {
      const y = (value) => above + (height * (top - value)) / (top - bottom);
      const scale = ticks(bottom, top, height / 28).map((value) => level(left, width, y(value), value));
      const names = ["flow", "lemma4", "theorem4"];
      const lines = curves.map((values, i) => path(names[i], line(values.map((value, j) => [x(times[j]), y(value)])))).reverse();
      const seeds = dots.map(([t, mean, std]) => path("spread", `M${x(t).toFixed(1)} ${y(mean - std).toFixed(1)}V${y(mean + std).toFixed(1)}`) +
        `<circle class="training" cx="${x(t).toFixed(1)}" cy="${y(mean).toFixed(1)}" r="2.6"/>`);
      return scale.join("") + lines.join("") + seeds.join("");
    });
    const [first, end] = [panels[0].y, panels[2].y + panels[2].height];
    const apart = x(marks[1]) - x(marks[0]) > 18 ? [5, -3] : [0, 2];
    const phases = marks.map((t, i) => t > last ? "" : panels.map(({ y, height }) => path("turn", `M${x(t).toFixed(1)} ${y}V${y + height}`)).join("") +
      text(x(t) + apart[i], first - 24, i ? sub("t", "0") : `${sub("t", "0")}\u2032`, i ? "start" : "end", "strong"));
    const axis = ticks(0, last, width / 75).map((t) => text(x(t), end + 16, t.toLocaleString("en"), t > 0.97 * last ? "end" : "middle"));
    const move = drawPanels(svg, [left, width], panels, [...drawn, ...phases, ...axis].join(""), "time t, updates");
    return (frame) => {
      const heights = panels.map(({ y, height, curves, bottom, top }) => y + (height * (top - curves[0][frame])) / (top - bottom));
      move(x(times[frame]), heights, panels.map(({ curves }) => plain(curves[0][frame], 3)));
    };
  }

  // The panel.

  const EARLIEST = 1e-5;
  const percent = (share) => `${plain(100 * share, 3)} %`;
  const STEPS = Array.from({ length: 8 }, (_, i) => data.steps.map((value) => plain(value * 10 ** (i - 3), 6))).flat();
  const choices = (name) => STEPS.filter((value) => value >= RANGES[name][0] && value <= RANGES[name][1]);
  const isLog = (name) => ["eta_Y", "eta_Z", "until"].includes(name);
  const nearest = (values, wanted) => values.reduce((best, value, i) => (Math.abs(Math.log(value / wanted)) < Math.abs(Math.log(values[best] / wanted)) ? i : best), 0);

  const state = {};
  let solved, frames, moveBars, moveCursor;

  function turned(name) {
    if (isLog(name)) return { [name]: choices(name)[byId(name).value] };
    const counts = Object.fromEntries(COUNTS.map((key) => [key, Number(byId(key).value)]));
    const own = ownMixture(counts);
    return { ...counts, mixture: Object.keys(data.mixtures).find((each) => isSame(own, data.mixtures[each])) ?? "" };
  }

  function compute() {
    const mixture = state.mixture ? data.mixtures[state.mixture] : ownMixture(state);
    const { classes, common, distinct, vocabulary } = sizes(mixture);
    Object.assign(state, { K: classes, C: common, D: distinct });
    const even = Array.from({ length: FRAMES + 1 }, (_, i) => (i / FRAMES) * state.until);
    // However long the axis, what happens early, such as the peak of growth, is not between two frames.
    const early = Array.from({ length: 2 * FRAMES }, (_, i) => state.until * EARLIEST ** (1 - i / (2 * FRAMES)));
    const times = [...new Set([...even, ...early])].sort((a, b) => a - b);
    frames = even.map((t) => times.indexOf(t));
    solved = solve(mixture, state.eta_Y, state.eta_Z, times);
    state.t ??= plain(Math.min(solved.marks[1], state.until), 3);
    for (const name of Object.keys(RANGES)) {
      set(name, isLog(name) ? nearest(choices(name), state[name]) : state[name], shown(state[name]));
    }
    byId("mixture").value = state.mixture;
    byId("mixture-value").textContent = `M = ${vocabulary.toLocaleString("en")}`;
    const written = overlay(data, state, mixture);
    byId("overlay").textContent = written;
    byId("copy").dataset.copy = written;
  }

  function draw() {
    const found = data.training.find((each) =>
      each.eta_Y === state.eta_Y && each.eta_Z === state.eta_Z && each.mixture === state.mixture);
    const dots = (found?.exponent ?? []).filter(([t]) => t > 0 && t <= state.until);
    byId("trained").hidden = !dots.length;
    moveBars = drawBars(byId("bars"), byId("bars").clientWidth, solved);
    moveCursor = drawCurves(byId("curves"), byId("curves").clientWidth, solved, dots);
  }

  function show(place) {
    const frame = frames[place];
    const { common } = solved.size;
    const { c } = solved.flow[frame];
    moveBars(solved.flow[frame]);
    moveCursor(frame);
    const [scanned, snapped] = solved.marks;
    const [before, after] = [`t\u2080\u2032\u00a0=\u00a0${shown(scanned)}`, `t\u2080\u00a0=\u00a0${shown(snapped)}`];
    // As the numbers are shown: at update 81, t_0 = 81 is now.
    const [now, first, second] = [state.t, scanned, snapped].map((t) => plain(t, 3));
    const phase = now < first ? `scanning, until ${before}` : now < second ? `between, until ${after}` : `snapping, since ${after}`;
    const stage = `The paper\u2019s clock: ${phase}`;
    if (byId("stage").textContent !== stage) byId("stage").textContent = stage;
    const rates = solved.flow.map(({ rate }) => rate);
    const peak = rates.indexOf(Math.max(...rates));
    const share = (values) => sum(values.slice(0, common));
    const numbers = `Common tokens have ${percent(share(c))} of attention, ${percent(share(solved.flow[0].c))} at the start; ` +
      `the most frequent distinct token has ${percent(Math.max(...c.slice(common)))}. Distinct tokens grow at ` +
      `${percent(rates[frame] / rates[peak])} of the peak rate, which is near update ${plain(solved.times[peak], 2)}.`;
    byId("numbers").textContent = numbers;
    byId("bars").setAttribute("aria-label", `Attention after ${shown(state.t)} updates. ${numbers}`);
    const { exponent, rate, entropy } = solved.flow[frame];
    const [grown, speed, spread] = [exponent, rate, entropy].map((value) => plain(value, 3));
    byId("curves").setAttribute("aria-label", `Growth exponent ${grown}, rate ${speed} per update, entropy ${spread} nats.`);
  }

  byId("mixture").append(...Object.keys(data.mixtures).map((name) => new Option(name, name)), new Option("own", ""));
  byId("mixture").addEventListener("change", () => change({ mixture: byId("mixture").value }));
  for (const [name, range] of Object.entries(RANGES)) {
    const [min, max] = isLog(name) ? [0, choices(name).length - 1] : range;
    Object.assign(byId(name), { min, max, step: name === "K" ? 2 : 1 });
    byId(name).addEventListener("input", () => change(turned(name)));
  }
  const change = play({
    state, seconds: 9, until: () => state.until, inWords: (t) => `${shown(t)} ${shown(t) === "1" ? "update" : "updates"}`,
    keys: () => ["eta_Y", "eta_Z", ...(state.mixture ? ["mixture"] : COUNTS), "until", "t"], fromAddress, compute, draw, show,
  });

  // Where training's numbers can be seen.
  byId("trained-at").append(...data.training.map(({ mixture, eta_Y, eta_Z }) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${mixture}, \u03b7_Y = ${shown(eta_Y)}, \u03b7_Z = ${shown(eta_Z)}` });
    button.addEventListener("click", () => change({ mixture, eta_Y, eta_Z, until: data.start.until }));
    return button;
  }));
  byId("trained-at").parentElement.hidden = !data.training.length;
})();
