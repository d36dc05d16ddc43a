"use strict";
(() => {
  const { solve, symmetric } = globalThis.twoTokens;
  const { FRAMES, data, byId, plain, ticks, text, path, line, level, sub, drawPanels, read, set, play } = globalThis.explorers;

  // State: entries of A, angles of the tokens at the start in degrees, W^V, and time.

  const ENTRIES = ["a11", "a12", "a21", "a22"];
  const ANGLES = ["theta1", "theta2"];
  const RANGES = Object.fromEntries([...ENTRIES.map((name) => [name, [-3, 3, 0.05]]), ...ANGLES.map((name) => [name, [0, 360, 1]])]);
  const STEPS = 6000;
  // What is smaller than this part of the energy is rounding.
  const ROUNDING = 1e-9;
  const shown = (value, digits = 4) => plain(value, digits).toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "\u2212");

  // What an address says; what it does not say, or says wrongly, is as in K1.
  function fromAddress(told) {
    const value = told.get("value") === "K1" ? "K1" : "symmetric";
    return { ...data.start, t: undefined, ...read(told, { ...RANGES, t: [0, data.until] }), value };
  }

  // Drawing.

  // The function that is returned moves the tokens.
  function drawCircle(svg, width) {
    const [middle, radius] = [width / 2, width / 2 - 34];
    const at = (x, far = radius) => [middle + far * x[0], middle - far * x[1]];
    const names = ["first", "second"];
    const dot = (kind, r) => `<circle class="${kind}" r="${r}"/>`;
    svg.setAttribute("viewBox", `0 0 ${width} ${width}`);
    svg.innerHTML = `<circle class="circle" cx="${middle}" cy="${middle}" r="${radius}"/>` +
      names.map((name) => path(`trail ${name}`, "")).join("") + names.map((name) => dot(`from ${name}`, 4)).join("") +
      names.map((name) => dot(`token ${name}`, 8)).join("") + [1, 2].map((i) => text(0, 0, sub("x", i), "middle", "strong")).join("");
    const [trails, starts, tokens, labels] = [".trail", ".from", ".token", "text"].map((kind) => svg.querySelectorAll(kind));
    const put = (element, [x, y], [h, v] = ["cx", "cy"]) => {
      element.setAttribute(h, x.toFixed(2));
      element.setAttribute(v, y.toFixed(2));
    };
    return (frame) => names.forEach((_, i) => {
      const positions = frames.slice(0, frame + 1).map((place) => solved.tokens[place][i]);
      trails[i].setAttribute("d", line(positions.map((x) => at(x))));
      put(starts[i], at(positions[0]));
      put(tokens[i], at(positions.at(-1)));
      const [x, y] = at(positions.at(-1), radius + 20);
      put(labels[i], [x, y + 4], ["x", "y"]);
    });
  }

  // Stretches of a curve in which the energy rises, and those in which it falls.
  function stretches(points, rises) {
    const found = { rising: [], falling: [] };
    for (let i = 1; i < points.length; i++) {
      const kind = rises[i - 1] && rises[i] ? "rising" : "falling";
      const last = found[kind].at(-1);
      if (last?.end === i - 1) {
        last.points.push(points[i]);
        last.end = i;
      } else found[kind].push({ end: i, points: [points[i - 1], points[i]] });
    }
    return ["falling", "rising"].map((kind) => path(kind, found[kind].map((each) => line(each.points)).join(""))).join("");
  }

  // Energy and rate over time, one above the other; the function that is returned moves the cursor.
  function drawCurves(svg, width) {
    const left = 52;
    const x = (t) => left + (t / data.until) * (width - left - 8);
    const rises = frames.map((place) => solved.rate[place] > least());
    const panels = [
      { y: 30, height: 130, title: "energy E(t)", key: "energy", digits: 5 },
      { y: 204, height: 100, title: "its rate dE/dt", key: "rate", digits: 3 },
    ].map((panel) => {
      const values = frames.map((place) => solved[panel.key][place]);
      const ends = panel.key === "rate" ? [...values, 0] : values;
      // Rounding is not magnified to a curve.
      const [low, high] = [Math.min(...ends), Math.max(...ends)];
      const margin = Math.max(0.06 * (high - low), 1e-3 * Math.abs(solved.energy[0]));
      const [bottom, top] = [low - margin, high + margin];
      return { ...panel, values, bottom, top, at: (value) => panel.y + (panel.height * (top - value)) / (top - bottom) };
    });
    const drawn = panels.map(({ height, key, values, bottom, top, at }) => {
      const scale = ticks(bottom, top, height / 30).map((value) =>
        level(left, width, at(value), shown(value, 6), key === "rate" && value === 0 ? "axis" : ""));
      return scale.join("") + stretches(values.map((value, i) => [x(solved.t[frames[i]]), at(value)]), rises);
    });
    const end = panels[1].y + panels[1].height;
    const axis = ticks(0, data.until, 6).map((t) => text(x(t), end + 16, shown(t), "middle"));
    const move = drawPanels(svg, [left, width], panels, [...drawn, ...axis].join(""), "time t");
    return (frame) => move(x(solved.t[frames[frame]]), panels.map(({ values, at }) => at(values[frame])),
      panels.map(({ values, digits }) => shown(exact(values[frame]), digits)));
  }

  // In words.

  const least = () => ROUNDING * Math.abs(solved.energy[0]);
  const exact = (value) => (Math.abs(value) < least() ? 0 : value);

  function verdict() {
    const { t, energy, rate } = solved;
    const fastest = rate.indexOf(Math.max(...rate));
    const highest = energy.indexOf(Math.max(...energy));
    const most = exact(rate[fastest]) ? `Its largest rate is ${shown(rate[fastest])}, at t = ${shown(t[fastest])}.` : "Its largest rate is 0.";
    const start = `${shown(energy[0], 5)} at the start`;
    if (rate[fastest] <= least()) return `The energy never rises: it goes from ${start} to ${shown(energy.at(-1), 5)} at t = ${shown(t.at(-1))}. ${most}`;
    if (energy[highest] > energy[0]) return `The energy rises from ${start} to ${shown(energy[highest], 5)} at t = ${shown(t[highest])}. ${most}`;
    return `The energy rises for a while, though never above the ${start}. ${most}`;
  }

  function condition() {
    const { a, value } = head();
    const isSame = (one, other) => one.every((entry, i) => Math.abs(entry - other[i]) < 1e-9);
    const name = "<i>W<sup>V</sup></i>";
    if (!isSame(value, symmetric(a))) return `${name} is not the symmetric part of <i>A</i>, so that Proposition 4.1 says nothing of this case.`;
    if (isSame(a, value)) return `<i>A</i> is symmetric and equal to ${name}: Proposition 4.1 is true here, whatever the tokens.`;
    return `${name} is the symmetric part of <i>A</i>, as Proposition 4.1 asks, and <i>A</i> is not symmetric.`;
  }

  // The panel.

  const state = {};
  let solved, moveTokens, moveCursor;
  const frames = Array.from({ length: FRAMES + 1 }, (_, i) => (i * STEPS) / FRAMES);

  function head() {
    const a = ENTRIES.map((name) => state[name]);
    return { a, value: state.value === "K1" ? data.value : symmetric(a), beta: data.beta };
  }

  function compute() {
    solved = solve(head(), ANGLES.map((name) => (state[name] * Math.PI) / 180), data.until, data.until / STEPS);
    state.t ??= plain(solved.t[solved.energy.indexOf(Math.max(...solved.energy))], 4);
    for (const name of Object.keys(RANGES)) set(name, state[name], shown(state[name]) + (ANGLES.includes(name) ? "\u00b0" : ""));
    byId("value").value = state.value;
    byId("verdict").textContent = verdict();
    byId("condition").innerHTML = condition();
  }

  function draw() {
    moveTokens = drawCircle(byId("circle"), Math.min(320, byId("circle").parentElement.clientWidth));
    moveCursor = drawCurves(byId("curves"), byId("curves").clientWidth);
  }

  function show(frame) {
    const place = frames[frame];
    moveTokens(frame);
    moveCursor(frame);
    const angles = solved.tokens[place].map(([x, y]) => `${Math.round((Math.atan2(y, x) * 180) / Math.PI + 360) % 360}\u00b0`);
    byId("circle").setAttribute("aria-label", `Tokens at ${angles.join(" and ")}, at time ${shown(state.t)}`);
    byId("curves").setAttribute("aria-label", `Energy ${shown(solved.energy[place], 5)}, rate ${shown(exact(solved.rate[place]), 3)}`);
  }

  for (const [name, [min, max, step]] of Object.entries(RANGES)) {
    Object.assign(byId(name), { min, max, step });
    byId(name).addEventListener("input", () => change({ [name]: plain(Number(byId(name).value)) }));
  }
  byId("value").addEventListener("change", () => change({ value: byId("value").value }));
  byId("even").addEventListener("click", () => {
    const [a11, a12, a21, a22] = symmetric(ENTRIES.map((name) => state[name])).map((entry) => plain(entry));
    change({ a11, a12, a21, a22 });
  });
  byId("reset").addEventListener("click", () => change({ ...data.start, value: "symmetric" }));
  const change = play({
    state, seconds: 6, until: () => data.until, inWords: (t) => `t = ${shown(t)}`,
    keys: () => [...ENTRIES, ...ANGLES, "value", "t"], fromAddress, compute, draw, show,
  });
})();
