// Runs once when the experts' page loads; `element` is Gradio's: the state of the panel inside it is
// replaced as a whole by every event. What an expert fills in stands outside of it and is
// read, filled and emptied here.
const VOTES = ["vote-1", "vote-2", "vote-3", "vote-4"];
const NEW_TASK_REST = 500; // milliseconds in which a second click judges nothing unread
const PATIENCE = 15000; // an event that nobody is sending any more is given up by then
const KEPT = "arena-expert-time";
const DRAFT = "arena-expert-draft-"; // and a task: what is filled in, until it is on record
const byId = (id) => document.getElementById(id);
const boxes = () => [...document.querySelectorAll(".expert-reasons input")];
const state = () => element.querySelector(".expert")?.dataset ?? {};

// Seconds that the task was in view; kept over a reload, not while the tab is hidden.
const clock = { task: "", seconds: 0, since: null };
const read = () =>
  clock.seconds + (clock.since === null ? 0 : (performance.now() - clock.since) / 1000);
const rest = () => {
  clock.seconds = read();
  clock.since = null;
  const kept = { task: clock.task, seconds: clock.seconds };
  if (clock.task) window.localStorage.setItem(KEPT, JSON.stringify(kept));
};
const run = () => {
  if (clock.since === null && clock.task && !document.hidden) clock.since = performance.now();
};
const begin = (task, before) => {
  const kept = JSON.parse(window.localStorage.getItem(KEPT) ?? "{}");
  clock.task = task;
  clock.seconds = before ?? (kept.task === task ? kept.seconds : 0);
  clock.since = null;
  run();
};
document.addEventListener("visibilitychange", () => (document.hidden ? rest() : run()));
window.addEventListener("pagehide", rest);
window.addEventListener("pageshow", run);

const filledIn = () => ({
  task: state().task ?? "",
  reasons: boxes().filter((box) => box.checked).map((box) => box.value),
  comment: byId("comment")?.value ?? "",
  cannot: byId("cannot-reason")?.value ?? "",
});
window.arenaAnswer = () =>
  JSON.stringify({
    ...filledIn(),
    edition: state().edition ?? "",
    undo: state().undo ?? "",
    seconds: Math.round(read() * 10) / 10,
  });
document.addEventListener("input", ({ target }) => {
  if (target.closest?.("#expert-form, #expert-cannot")) window.arenaDrafts.save(filledIn(), DRAFT + shown.task);
});

let shown = { task: "", stamp: "" };
let busy = false;
let hasJudged = false; // what comes next answers a judgement
let waiting = null;

const enable = () => {
  const { phase, undo, more } = state();
  const judging = phase === "task" && !busy;
  const open = {
    ...Object.fromEntries(VOTES.map((id) => [id, judging])),
    "cannot-judge": judging && Boolean(byId("cannot-reason")?.value),
    undo: Boolean(undo) && !busy,
    "go-on": more === "yes" && !busy,
  };
  for (const [id, isOpen] of Object.entries(open)) {
    const button = byId(id);
    if (button && button.disabled === isOpen) button.disabled = !isOpen;
  }
};

// Shut until the answer is there, so that a double click is one judgement.
const hold = (milliseconds) => {
  window.clearTimeout(waiting);
  busy = true;
  enable();
  waiting = window.setTimeout(() => {
    if (milliseconds === PATIENCE && window.arenaConnection.pending()) return hold(PATIENCE);
    busy = false;
    enable();
  }, milliseconds);
};

const fill = (draft) => {
  for (const box of boxes()) box.checked = draft.reasons?.includes(box.value) ?? false;
  if (byId("comment")) byId("comment").value = draft.comment ?? "";
  if (byId("cannot-reason")) byId("cannot-reason").value = draft.cannot ?? "";
};

const show = () => {
  const { task = "", stamp, draft = "{}", phase } = state();
  if (!phase || stamp === shown.stamp || !byId("comment")) return;
  const isFirst = shown.stamp === "";
  const isNew = task !== shown.task;
  if (isNew && hasJudged) window.arenaDrafts.drop(DRAFT + shown.task);
  hasJudged = false;
  shown = { task, stamp };
  hold(isNew && !isFirst ? NEW_TASK_REST : 0);
  if (!isNew) return;
  rest();
  const before = JSON.parse(draft);
  fill("reasons" in before ? before : window.arenaDrafts.load(DRAFT + task));
  begin(task, before.seconds);
  for (const log of document.querySelectorAll("#panels [role=log]")) log.scrollTop = 0;
  window.scrollTo({ top: 0 });
  // Read out, and Enter does not press the same button again.
  element.querySelector(".expert").focus({ preventScroll: true });
};

const ACTIONS = [...VOTES, "cannot-judge", "undo", "go-on"].map((id) => `#${id}`).join(", ");
document.addEventListener(
  "click",
  (event) => {
    if (!(event.target instanceof Element) || !event.target.closest(ACTIONS)) return;
    if (busy) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    busy = true;
    hasJudged = !event.target.closest("#undo, #go-on");
    // After Gradio has taken the click, which it would not take from a disabled button.
    window.setTimeout(() => hold(PATIENCE), 0);
  },
  true,
);
document.addEventListener("arena:unanswered", () => hold(0)); // pressed again, it is sent again
document.addEventListener("change", (event) => {
  if (event.target.id === "cannot-reason") enable();
});
// The page's own keys leave every field alone; in a tick box a number can only mean a vote.
document.addEventListener("keydown", (event) => {
  const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.repeat);
  if (!isPlain || !event.target.matches?.(".expert-reasons input")) return;
  const button = byId(`vote-${event.key}`);
  if (button && !button.disabled) button.click();
});

new MutationObserver(show).observe(document.body, {
  childList: true,
  subtree: true,
  attributeFilter: ["data-stamp"],
});
enable();
show();
