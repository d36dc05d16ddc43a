"use strict";
// What all explorers share; their own scripts follow.
globalThis.explorers = (() => {
  const FRAMES = 240;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const byId = (id) => document.getElementById(`x-${id}`);
  const plain = (value, digits = 6) => Number(value.toPrecision(digits));

  // Drawing: text of SVG from numbers.

  function ticks(bottom, top, most) {
    const rough = (top - bottom) / most;
    const ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((factor) => factor * ten >= rough * (1 - 1e-9));
    const first = Math.ceil(bottom / step - 1e-9);
    return Array.from({ length: Math.floor(top / step + 1e-9) - first + 1 }, (_, i) => plain((first + i) * step));
  }
  const text = (x, y, content, anchor = "start", kind = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" class="${kind}">${content}</text>`;
  const path = (kind, d) => `<path class="${kind}" d="${d}"/>`;
  const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  // A line of a scale, with its number on the left.
  const level = (left, right, y, content, kind = "") =>
    path(kind, `M${left} ${y.toFixed(1)}H${right}`) + text(left - 6, y + 4, content, "end");
  const sub = (letter, index) => `${letter}<tspan dy="3" class="sub">${index}</tspan><tspan dy="-3">\u200b</tspan>`;

  // Panels of curves, one above the other, over one axis of time; the function that is returned moves the cursor to x, its dots to
  // the heights, and says the values.
  function drawPanels(svg, [left, right], panels, curves, title) {
    const end = panels.at(-1).y + panels.at(-1).height;
    const cursor = panels.map(({ y, height }) => path("cursor", `M0 ${y}V${y + height}`) + `<circle class="now" cx="0" r="4.5"/>`);
    const names = panels.map(({ y, title: name }) => text(0, y - 9, name, "start", "strong") + text(right, y - 9, "", "end", "strong value"));
    svg.setAttribute("viewBox", `0 0 ${right} ${end + 36}`);
    svg.innerHTML = `${curves}<g>${cursor.join("")}</g>${names.join("")}${text((left + right) / 2, end + 33, title, "middle")}`;
    const [group, dots, labels] = [svg.querySelector("g"), svg.querySelectorAll(".now"), svg.querySelectorAll(".value")];
    return (x, heights, values) => {
      group.setAttribute("transform", `translate(${x.toFixed(2)} 0)`);
      heights.forEach((y, i) => dots[i].setAttribute("cy", y.toFixed(2)));
      values.forEach((value, i) => (labels[i].textContent = value));
    };
  }

  // Playing.

  // The numbers that an address says, within their ranges; what is none, such as 0x10, says nothing.
  const number = (text) => (/^\s*[-+]?(\d+\.?|\d*\.\d+)\d*(e[-+]?\d+)?\s*$/i.test(text ?? "") ? Number(text) : NaN);
  const read = (told, ranges) => Object.fromEntries(Object.entries(ranges)
    .map(([key, range]) => [key, number(told.get(key)), range])
    .filter(([, value]) => Number.isFinite(value))
    .map(([key, value, [low, high]]) => [key, Math.min(high, Math.max(low, value))]));

  // A control stands at a value, which is told in words.
  function set(name, value, told) {
    byId(name).value = value;
    byId(name).setAttribute("aria-valuetext", told);
    byId(`${name}-value`).textContent = told;
  }

  // Starts an explorer. The time t of its state runs from 0 to until() in some seconds. What a change of the state calls for
  // is computed first, then drawn; show(frame) moves what is drawn. The address keeps what the keys name, and is meant for
  // the explorer if it has the first of them. The function that is returned changes the state.
  function play({ state, seconds, until, inWords, keys, fromAddress, compute, draw, show }) {
    let playing, writing;
    const pane = document.querySelector("#explorer .seen");
    const isTold = () => RegExp(`[#&]${keys()[0]}=`).test(location.hash);

    function display() {
      const frame = Math.round((state.t / until()) * FRAMES);
      set("time", frame, inWords(state.t));
      show(frame);
    }

    // There is no width while the page is printed.
    function redraw() {
      if (!pane.clientWidth) return;
      draw();
      display();
    }

    function start() {
      if (state.t >= until()) state.t = 0;
      let before;
      const tick = (now) => {
        state.t = Math.min(until(), state.t + ((now - (before ?? now)) / 1000 / seconds) * until());
        before = now;
        display();
        if (state.t < until()) playing = requestAnimationFrame(tick);
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

    // Other parts of the page keep what they say in the address. Browsers slow down who changes it all the time.
    function keep() {
      clearTimeout(writing);
      writing = setTimeout(() => {
        const others = [...new URLSearchParams(location.hash.slice(1))].filter(([key, value]) => value && !(key in state));
        history.replaceState(null, "", `#${new URLSearchParams([...others, ...keys().map((key) => [key, state[key]])])}`);
      }, 200);
    }

    function change(told) {
      Object.assign(state, told);
      state.t = Math.min(state.t, until());
      compute();
      redraw();
      keep();
    }

    function restore() {
      pause();
      Object.assign(state, fromAddress(new URLSearchParams(location.hash.slice(1))));
      compute();
      redraw();
      if (!isTold()) return;
      // What an address says wrongly does not stay in it.
      keep();
      document.getElementById("explorer").scrollIntoView();
    }

    document.querySelector("#explorer .live").hidden = false;
    byId("time").max = FRAMES;
    byId("time").addEventListener("input", () => {
      pause();
      state.t = plain((byId("time").value / FRAMES) * until(), 4);
      display();
      keep();
    });
    byId("play").addEventListener("click", () => (playing ? pause() : start()));
    addEventListener("hashchange", () => isTold() && restore());
    new ResizeObserver(redraw).observe(pane);
    restore();
    return change;
  }

  return { FRAMES, data, byId, plain, ticks, text, path, line, level, sub, drawPanels, read, set, play };
})();
