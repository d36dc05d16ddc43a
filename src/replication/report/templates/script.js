"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const claims = all(".claim");
  const counts = all(".count");
  const sections = all("section.filtered");
  const [search, figure, status] = ["search", "by-figure", "status"].map(byId);

  for (const element of all(".copy, .scripted, #filter")) element.hidden = false;
  for (const button of counts) button.disabled = false;

  const pressed = () => counts.filter((button) => button.getAttribute("aria-pressed") === "true");

  function show() {
    const verdicts = pressed().map((button) => button.dataset.verdict);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = verdicts.length > 0 || words.length > 0 || figure.value !== "";
    for (const claim of claims) {
      const { verdict, figure: place, search: text } = claim.dataset;
      claim.hidden = !(
        (verdicts.length === 0 || verdicts.includes(verdict)) &&
        (figure.value === "" || figure.value === place) &&
        words.every((word) => text.includes(word))
      );
    }
    for (const section of sections) {
      section.hidden = active && all(".claim", section).every((claim) => claim.hidden);
    }
    const shown = claims.filter((claim) => !claim.hidden).length;
    const message = `${shown} of ${claims.length} claims shown`;
    if (status.textContent !== message) status.textContent = message;
    byId("nothing").hidden = shown > 0;
    return { verdicts, active };
  }

  function apply() {
    const { verdicts, active } = show();
    const state = new URLSearchParams();
    if (verdicts.length) state.set("verdict", verdicts.join(","));
    if (figure.value) state.set("figure", figure.value);
    if (search.value.trim()) state.set("q", search.value.trim());
    history.replaceState(null, "", active ? `#${state}` : location.pathname + location.search);
  }

  // An address ends in #verdict=... for a filter, or in #claim-T1 for a place.
  function restore() {
    const hash = location.hash.slice(1);
    const place = byId(hash);
    if (place) {
      if (place.closest("[hidden]")) clear();
      place.scrollIntoView();
      return;
    }
    const state = new URLSearchParams(hash);
    const verdicts = (state.get("verdict") ?? "").split(",");
    for (const button of counts) {
      button.setAttribute("aria-pressed", String(verdicts.includes(button.dataset.verdict)));
    }
    search.value = state.get("q") ?? "";
    figure.value = state.get("figure") ?? "";
    if (figure.selectedIndex < 0) figure.value = "";
    show();
  }

  function clear() {
    for (const button of counts) button.setAttribute("aria-pressed", "false");
    search.value = "";
    figure.value = "";
    show();
  }

  for (const button of counts) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(!pressed().includes(button)));
      apply();
    });
  }
  search.addEventListener("input", apply);
  figure.addEventListener("change", apply);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => (clear(), apply()));
  addEventListener("hashchange", restore);

  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector(".command"));
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  // What scrolls can be reached by keyboard, in browsers that do not see to that themselves.
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const element of all(".scroll, .plate")) observer.observe(element);

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const element of opened) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of opened) element.open = false;
  });

  if (location.hash) restore();
})();
