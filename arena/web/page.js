// What the pages do in the browser beside Gradio: keys, the address, light or dark.
(() => {
  "use strict";
  const find = (selector) => document.querySelector(selector);
  const isTyping = (target) =>
    target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

  // Keys 1 to 4 vote and / goes to the prompt, but not while somebody types.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) {
      return;
    }
    const button = document.getElementById(`vote-${event.key}`);
    if (button && !button.disabled) {
      event.preventDefault();
      button.click();
    }
    const prompt = find("#prompt textarea");
    if (event.key === "/" && prompt) {
      event.preventDefault();
      prompt.focus();
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
      const question = find(".battle-status")?.dataset.confirm;
      if (question && !window.confirm(question)) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
    },
    true,
  );

  // A line about what was not done, until something else happens.
  const tell = (words) => {
    const line = find("#told") ?? document.createElement("p");
    line.id = "told";
    line.className = "notice";
    line.setAttribute("role", "alert");
    line.textContent = words;
    (find("#ask") ?? find(".site-header"))?.after(line);
  };
  const untell = () => find("#told")?.remove();
  document.addEventListener("input", untell);

  // Enter while no prompt is taken says so.
  document.addEventListener(
    "keydown",
    (event) => {
      const isSent = event.key === "Enter" && !event.shiftKey && !event.isComposing;
      if (!isSent || !event.target.matches?.("#prompt textarea")) return;
      if (!document.getElementById("send")?.disabled) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      tell(find(".battle-status")?.dataset.busy ?? "");
    },
    true,
  );

  // "Surprise me" puts an idea into the prompt, never over somebody's own words.
  let suggested = null;
  const isTyped = () => {
    const words = find("#prompt textarea")?.value ?? "";
    return words.trim() !== "" && words !== suggested;
  };
  document.addEventListener(
    "click",
    (event) => {
      if (!(event.target instanceof Element) || !event.target.closest("#surprise") || !isTyped()) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      tell(find(".battle-status")?.dataset.kept ?? "");
    },
    true,
  );

  // What Gradio would say in English is said in the page's language.
  const translateToasts = () => {
    for (const toast of document.querySelectorAll(".toast-body.error:not([data-told])")) {
      toast.dataset.told = "";
      tell(find(".site-header")?.dataset.failed ?? "");
    }
  };

  // What the events of the battle page send with what they are about: the battle, and which
  // turn or which answers the visitor has before them. A new battle's id is made here, and is in
  // the address before the prompt is on its way: sent twice, it is one battle.
  const makeId = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (c) => ({ "+": "-", "/": "_" })[c] ?? "");
  };
  const shownBattle = () => find(".battle-status")?.dataset ?? {};
  window.arenaBattle = {
    ask: (prompt) => {
      const { status, battle = "", turns = "0" } = shownBattle();
      const next = makeId();
      const isNew = !battle || status === "voted";
      if (isNew) remember(next);
      window.arenaDrafts.send(prompt, isNew ? next : battle, isNew ? "0" : turns);
      return [prompt, turns, next, battle];
    },
    shown: () => [shownBattle().edition ?? "", shownBattle().battle ?? ""],
    // An idea goes where nothing was typed, also while it was on its way.
    suggest: (idea) => {
      const prompt = find("#prompt textarea");
      if (!prompt || !idea || isTyped()) return;
      fillIn(prompt, idea);
      suggested = idea;
      prompt.focus();
    },
    ofAddress: () => [new URLSearchParams(window.location.search).get("battle") ?? ""],
  };

  // Everything that follows from the battle's state, which the status line carries.
  let shown = { battle: "", status: null, turns: "0" };
  const follow = () => {
    const status = find(".battle-status");
    if (!status) return;
    const state = { ...status.dataset };
    enable(state.open.split(" "));
    if (state.status !== shown.status || state.battle !== shown.battle) untell();
    for (const side of "ab") note(side, state[`${side}State`], state[`${side}Note`]);
    const prompt = find("#prompt textarea");
    if (prompt && prompt.placeholder !== state.placeholder) prompt.placeholder = state.placeholder;
    if (state.battle !== shown.battle) remember(state.battle);
    const asked = state.battle !== shown.battle || state.turns !== shown.turns;
    if (asked && state.battle && shown.status !== null && prompt) {
      const isStored = window.arenaDrafts.isStored(state.battle, state.turns);
      if (isStored) fillIn(prompt, "");
    }
    if (asked && state.battle && shown.status !== null && prompt?.value === "") {
      // From here on the keys vote, and a phone's keyboard no longer covers the answers.
      find("#state").focus({ preventScroll: true });
      window.scrollTo({ top: 0 });
    }
    if (shown.status === "ready" && state.status === "voted") {
      window.setTimeout(() => find(".reveal")?.focus(), 50);
    }
    shown = state;
  };

  // What each button does; whether that is open is for the server to say.
  const DOES = {
    ...Object.fromEntries(["1", "2", "3", "4"].map((key) => [`vote-${key}`, ["vote"]])),
    send: ["start", "follow-up"],
    regenerate: ["regenerate"],
    retry: ["retry"],
    stop: ["leave"],
    "new-battle": ["leave"],
  };
  const enable = (open) => {
    for (const [id, actions] of Object.entries(DOES)) {
      const button = document.getElementById(id);
      const disabled = !actions.some((action) => open.includes(action));
      if (button && button.disabled !== disabled) button.disabled = disabled;
    }
  };

  const note = (side, state = "", words = "") => {
    const line = find(`#note-${side} .side-note`);
    if (!line || (line.dataset.state === state && line.textContent === words)) return;
    line.dataset.state = state;
    line.textContent = words;
    if (state === "failed") line.setAttribute("role", "alert");
    else line.removeAttribute("role");
  };

  // The address carries the battle's id, so that a reload or the other language finds it.
  const remember = (battle) => {
    const url = new URL(window.location.href);
    if (battle) url.searchParams.set("battle", battle);
    else url.searchParams.delete("battle");
    window.history.replaceState(null, "", url);
    const other = find("#language-switch");
    if (other) other.search = url.search;
  };

  // After a reload, or in the other language: the battle of the address comes back.
  let restored = false;
  const restore = () => {
    const button = document.getElementById("restore");
    if (restored || !button) return;
    restored = true;
    if (new URLSearchParams(window.location.search).get("battle")) button.click();
  };

  // Where the record could not be read, it is read again once it can be.
  const READ_AGAIN = 3000;
  document.addEventListener("arena:unanswered", () => {
    const { status } = shownBattle();
    if (!["idle", "answering"].includes(status)) return;
    if (!new URLSearchParams(window.location.search).get("battle")) return;
    window.setTimeout(() => document.getElementById("restore")?.click(), READ_AGAIN);
  });

  const fillIn = (prompt, words) => {
    prompt.value = words;
    prompt.dispatchEvent(new Event("input", { bubbles: true }));
  };

  // Names for screen readers that Gradio gives no setting for.
  const label = () => {
    find("#state")?.setAttribute("tabindex", "-1");
    find("#prompt textarea")?.setAttribute("dir", "auto");
    for (const key of "1234") find(`#vote-${key}`)?.setAttribute("aria-keyshortcuts", key);
  };

  // Gradio says that the page is in the browser's language; it is in the one it was served in.
  const page = document.documentElement;
  const language = page.lang;
  new MutationObserver(() => {
    if (page.lang !== language) page.lang = language;
  }).observe(page, { attributeFilter: ["lang"] });

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
    let focused = false;
    const refresh = () => {
      follow();
      translateToasts();
      label();
      restore();
      const prompt = find("#prompt textarea");
      if (prompt && !focused) {
        focused = true;
        const kept = window.arenaDrafts.load().text;
        if (kept && !prompt.value) fillIn(prompt, kept);
        if (window.matchMedia("(hover: hover)").matches) prompt.focus({ preventScroll: true });
      }
    };
    // Gradio may replace the status line or change it in place.
    new MutationObserver(refresh).observe(document.body, {
      childList: true,
      subtree: true,
      attributeFilter: ["data-status", "data-open", "data-battle", "data-turns", "data-a-state", "data-b-state"],
    });
    refresh();
  };
  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start);
})();
