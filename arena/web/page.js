// What the pages do in the browser beside Gradio: keys, the address, light or dark.
(() => {
  "use strict";
  const find = (selector) => document.querySelector(selector);
  const isTyping = (target) =>
    target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

  // Keys 1 to 4 vote, but not while somebody types.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) {
      return;
    }
    const button = find(`#vote-${event.key}`);
    if (button && !button.disabled) {
      event.preventDefault();
      button.click();
    }
  });

  // Enter that confirms a candidate of an input method must not send the prompt.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) {
        event.stopImmediatePropagation();
      }
    },
    true,
  );

  // A new battle asks first if an unvoted one would be lost.
  document.addEventListener(
    "click",
    (event) => {
      if (!(event.target instanceof Element) || !event.target.closest("#new-battle")) return;
      const status = find(".battle-status");
      const unvoted = status && ["answering", "ready", "failed"].includes(status.dataset.status);
      if (unvoted && !window.confirm(status.dataset.confirm)) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
    },
    true,
  );

  // The address carries the battle's id, so that a reload or the other language finds it.
  let shown = { battle: null, status: null };
  const follow = () => {
    const status = find(".battle-status");
    if (!status) return;
    const { battle, status: name } = status.dataset;
    if (battle === shown.battle && name === shown.status) return;
    if (battle || shown.battle) {
      const url = new URL(window.location.href);
      if (battle) url.searchParams.set("battle", battle);
      else url.searchParams.delete("battle");
      window.history.replaceState(null, "", url);
      const other = find("#language-switch");
      if (other) other.search = url.search;
    }
    const justVoted = shown.status === "ready" && name === "voted";
    shown = { battle, status: name };
    if (justVoted) window.setTimeout(() => find(".reveal")?.focus({ preventScroll: false }), 50);
  };

  // Names for screen readers that Gradio gives no setting for.
  const label = () => {
    for (const id of ["panel-a", "panel-b"]) {
      const panel = document.getElementById(id);
      const log = panel?.querySelector("[role=log]");
      const title = panel?.closest(".panel-column")?.querySelector(".panel-title");
      if (log && title) log.setAttribute("aria-label", title.textContent);
    }
    for (const key of "1234") find(`#vote-${key}`)?.setAttribute("aria-keyshortcuts", key);
  };

  // Light or dark: the system's choice until the visitor makes one.
  const THEME = "arena-theme";
  const applyTheme = () => {
    const wanted = window.localStorage.getItem(THEME);
    if (!wanted || !document.body) return;
    if (document.body.classList.contains("dark") !== (wanted === "dark")) {
      document.body.classList.toggle("dark", wanted === "dark");
    }
  };
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("#theme-switch")) return;
    const dark = document.body.classList.contains("dark");
    window.localStorage.setItem(THEME, dark ? "light" : "dark");
    applyTheme();
  });

  const start = () => {
    applyTheme();
    new MutationObserver(applyTheme).observe(document.body, { attributeFilter: ["class"] });
    new MutationObserver(() => {
      follow();
      label();
    }).observe(document.body, { childList: true, subtree: true });
    follow();
    label();
  };
  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start);
})();
