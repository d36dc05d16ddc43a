"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const claims = all(".claim");
  const counts = all(".count");
  const figures = all(".figure");
  const sections = all("section.filtered:not(.figure)");
  const rows = new Map(all("#list tbody tr").map((row) => [row.dataset.claim, row]));
  const fields = { q: "search", verdict: "by-verdict", about: "by-about", figure: "by-figure" };
  for (const [key, id] of Object.entries(fields)) fields[key] = byId(id);
  const status = byId("status");
  const listings = all(".listing");

  for (const element of all(".copy, .scripted, .sort, #filter")) element.hidden = false;
  for (const element of all("#list .plain")) element.hidden = true;
  for (const button of counts) button.disabled = false;

  // What is meant alike is written alike: Fig. 6, figure6; Thm 3; eq 14; η_Y, eta_Y; winner-takes-all.
  const LETTERS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(" ");
  const KINDS = [["figure ", "fig(?:ure)?s?"], ["theorem ", "th(?:eore)?ms?"], ["eq. ", "eq(?:uation)?s?"], ["lemma ", "lem(?:ma)?s?"],
    ["corollary ", "cor(?:ollary|ollaries)?"], ["erratum ", "err(?:atum|ata)"]].map(([name, kind]) => [name, RegExp(`(?<!\\p{L})${kind}\\.?\\s?\\(?(?=\\d)`, "gu")]);
  const alike = (text) => KINDS.reduce((told, [name, kind]) => told.replace(kind, name), text.toLowerCase()
    .replace(/[α-ω]/g, (letter) => LETTERS[letter.charCodeAt(0) - 0x3b1])
    .replaceAll("_", "").replace(/(?<=\p{L})[-\u2010-\u2013](?=\p{L})/gu, " "))
    // Lemmas 3 and 5 are Lemma 5, too.
    .replace(/(\p{L}+\.? )\d\w*((?:(?:, and |, | and |-)\d\w*)+)/gu, (all, kind, rest) => all + rest.match(/\d\w*/g).map((n) => ` ${kind}${n}`).join(""));
  const searched = new Map(all("[data-search]").map((element) => [element, alike(element.dataset.search)]));

  // "Theorem 3" is one phrase, and so is what stands in quotes.
  const phrases = (text) =>
    [...alike(text).matchAll(/"([^"]+)"|(\p{L}+\.? \d\w*)|(\S+)/gu)].map((m) => m[1] ?? m[0]);

  // A phrase that ends in a number ends there: Figure 1 is not Figure 11. An id is just that claim.
  function matcher(phrase) {
    const id = [...rows.keys()].find((name) => name.toLowerCase() === phrase);
    if (id) return (text, own) => own === id;
    if (!/\d\w?$/.test(phrase)) return (text) => text.includes(phrase);
    const literal = phrase.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const whole = new RegExp(`(?<![\\p{L}\\d])${literal}(?!\\d|\\.\\d)`, "u");
    return (text) => whole.test(text);
  }

  function show() {
    const matchers = phrases(fields.q.value).map(matcher);
    const chosen = ["verdict", "about", "figure"].filter((key) => fields[key].value !== "");
    const active = matchers.length > 0 || chosen.length > 0;
    const fits = (text, own) => matchers.every((matches) => matches(text, own));
    for (const claim of claims) {
      const { id } = claim.dataset;
      claim.hidden = !(chosen.every((key) => claim.dataset[key] === fields[key].value) && fits(searched.get(claim), id));
      rows.get(id).hidden = claim.hidden;
    }
    // A figure is shown with the errata that rest on it, too, which stand elsewhere; then what holds something that is shown.
    const resting = new Set(claims.filter((claim) => !claim.hidden).map((claim) => claim.dataset.figure));
    const named = (figure) => matchers.length > 0 && chosen.length === 0 && fits(searched.get(figure), "");
    for (const figure of figures) figure.hidden = active && !named(figure) && !resting.has(figure.dataset.figure);
    for (const section of sections) section.hidden = active && all(".claim, .figure", section).every((part) => part.hidden);
    for (const button of counts) {
      const { verdict, about } = button.dataset;
      const pressed = fields.verdict.value === verdict && fields.about.value === about;
      button.setAttribute("aria-pressed", String(pressed));
    }
    const shown = claims.filter((claim) => !claim.hidden).length;
    const drawn = figures.filter((figure) => !figure.hidden).length;
    const message = `${shown} of ${claims.length} claims shown${active && drawn ? `, ${drawn} ${drawn > 1 ? "figures" : "figure"}` : ""}`;
    if (status.textContent !== message) status.textContent = message;
    byId("filter").classList.toggle("active", active);
    if (active) byId("list").closest("details").open = true;
    byId("nothing").hidden = shown + drawn > 0;
  }

  function apply() {
    show();
    // What the explorer keeps in the address stays; the name of a place goes, it has no value.
    const others = [...new URLSearchParams(location.hash.slice(1))].filter(([key, value]) => value && !(key in fields));
    const own = Object.entries(fields).map(([key, field]) => [key, field.value.trim()]).filter(([, value]) => value);
    const state = new URLSearchParams([...others, ...own]).toString();
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
  }

  // An address ends in #verdict=... for a filter, or in #claim-T1 for a place, or in #T1 by hand.
  function restore() {
    const hash = location.hash.slice(1);
    const place = byId(hash) ?? byId(`claim-${hash}`) ?? byId(`figure-${hash}`);
    const isUnknown = Boolean(hash) && !hash.includes("=") && !place;
    byId("unknown").hidden = !isUnknown;
    byId("unknown").textContent = isUnknown ? `This page has nothing that is called ${hash.slice(0, 60)}; all its claims stand below.` : "";
    if (place) {
      if (place.closest("[hidden]")) clear();
      for (let e = place.closest("details"); e; e = e.parentElement.closest("details")) e.open = true;
      place.querySelector(":scope > details.more")?.setAttribute("open", "");
      place.scrollIntoView();
      return;
    }
    const state = new URLSearchParams(hash);
    for (const [key, field] of Object.entries(fields)) {
      field.value = state.get(key) ?? "";
      if (field.selectedIndex < 0) field.value = "";
    }
    show();
  }

  function clear() {
    for (const field of Object.values(fields)) field.value = "";
    show();
  }

  for (const button of counts) {
    button.addEventListener("click", () => {
      const again = button.getAttribute("aria-pressed") === "true";
      clear();
      for (const key of ["verdict", "about"]) fields[key].value = again ? "" : button.dataset[key];
      apply();
      if (!again) byId("claims").scrollIntoView();
    });
  }
  for (const field of Object.values(fields)) field.addEventListener("input", apply);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => (clear(), apply()));
  addEventListener("hashchange", restore);
  // A link to the place that the address names already changes nothing there.
  addEventListener("click", (event) => {
    if (event.target.closest?.("a")?.hash === location.hash && location.hash) restore();
  });

  for (const button of all(".sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of all("#list th")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const { compare } = new Intl.Collator("en", { numeric: true });
      const cell = (row) => row.cells[Number(button.dataset.column)];
      // What is sorted by a number has it in data-sort.
      const order = (a, b) =>
        a.dataset.sort ? Math.sign(a.dataset.sort - b.dataset.sort) || 0 : compare(a.textContent.trim(), b.textContent.trim());
      const sorted = [...rows.values()].sort((a, b) => sign * order(cell(a), cell(b)));
      byId("list").tBodies[0].append(...sorted);
    });
  }

  // A figure as large as the window, and larger.
  const large = byId("large");
  const plate = large.querySelector(".plate");
  let zoom;
  function enlarge(figure) {
    const picture = figure.querySelector("img").cloneNode();
    plate.replaceChildren(picture);
    byId("large-title").textContent = figure.querySelector(".label").textContent;
    large.showModal();
    const { paddingLeft, paddingTop } = getComputedStyle(plate);
    const [across, down] = [plate.clientWidth - 2 * parseFloat(paddingLeft), plate.clientHeight - 2 * parseFloat(paddingTop)];
    const shape = picture.getAttribute("width") / picture.getAttribute("height");
    zoom = (factor) => {
      width *= factor;
      Object.assign(picture, { width, height: width / shape });
    };
    let width = Math.min(across, down * shape);
    zoom(1);
  }
  for (const figure of figures.filter((each) => each.querySelector("img"))) {
    for (const opener of all(".enlarge, img", figure)) opener.addEventListener("click", () => enlarge(figure));
  }
  byId("larger").addEventListener("click", () => zoom(1.4));
  byId("smaller").addEventListener("click", () => zoom(1 / 1.4));
  byId("close").addEventListener("click", () => large.close());

  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector(":scope .command");
      try {
        await navigator.clipboard.writeText(button.dataset.copy ?? text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  // A phone shows lists when they are asked for; paper shows them, and every picture.
  if (matchMedia("(max-width: 40rem)").matches) for (const listing of listings) listing.open = false;
  addEventListener("beforeprint", () => {
    for (const listing of listings) listing.open = true;
    for (const picture of all("img")) picture.loading = "eager";
  });

  // What scrolls can be reached by keyboard, in browsers that do not see to that themselves.
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const element of all(".scroll, .plate")) observer.observe(element);

  if (location.hash) restore();
})();
