// What is typed is kept for this tab until it is on record: a reload, a crash of the browser's or an
// upgrade of the server costs nobody a prompt or a comment.
(() => {
  "use strict";
  const PROMPT = "arena-prompt"; // {text, battle, turn}: the last two once it is on its way
  const load = (key = PROMPT) => JSON.parse(window.sessionStorage.getItem(key) ?? "{}");
  const save = (value, key = PROMPT) => window.sessionStorage.setItem(key, JSON.stringify(value));
  const drop = (key = PROMPT) => window.sessionStorage.removeItem(key);

  document.addEventListener("input", ({ target }) => {
    if (!target.closest?.("#prompt")) return;
    if (target.value) save({ text: target.value });
    else drop();
  });

  window.arenaDrafts = {
    load,
    save,
    drop,
    // A prompt goes out as a turn of a battle.
    send: (text, battle, turn) => save({ text, battle, turn }),
    // Whether a battle with so many turns has the prompt that went out last.
    isStored: (battle, turns) => {
      const sent = load();
      return sent.battle === battle && Number(turns) > Number(sent.turn);
    },
  };
})();
