// Runs once when the board's component loads; `element`, `watch` and `trigger` are Gradio's. The board
// inside `element` is replaced as a whole when there is a newer one: what the visitor chose
// (order, scroll, focus) is remembered here and put back.
const chosen = { column: null, descending: false, focus: null, scroll: {}, name: "", organisation: "" };

const compare = (kind) => (a, b) => {
  if (kind === "number") return Number(a) - Number(b);
  return a.localeCompare(b, undefined, { numeric: true, sensitivity: "base" });
};

const sort = () => {
  const table = element.querySelector(".board-table");
  const button = table?.querySelector(`button[data-column="${chosen.column}"]`);
  if (!button) return;
  const head = button.closest("th");
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", chosen.descending ? "descending" : "ascending");
  const body = table.querySelector("tbody[data-sortable]");
  const value = (row) => row.cells[head.cellIndex].dataset.value;
  const order = compare(button.dataset.kind);
  const sign = chosen.descending ? -1 : 1;
  const rows = [...body.rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    // What is unknown stays below in both directions.
    if (left === "" || right === "") return (left === "") - (right === "");
    return sign * order(left, right);
  });
  body.append(...rows);
};

// Only the models that were searched for; what was typed comes back with a newer board.
const filter = () => {
  const [search, from] = ["name", "organisation"].map((key) =>
    element.querySelector(`[data-filter="${key}"]`),
  );
  if (!search) return;
  if (search.value !== chosen.name) search.value = chosen.name;
  if (from && from.value !== chosen.organisation) from.value = chosen.organisation;
  const wanted = chosen.name.trim().toLowerCase();
  const rows = [...element.querySelectorAll(".board-table tbody tr")];
  for (const row of rows) {
    const name = row.querySelector(".board-name").textContent.toLowerCase();
    const isFrom = !chosen.organisation || row.dataset.organisation === chosen.organisation;
    row.hidden = !(name.includes(wanted) && isFrom);
  }
  const found = element.querySelector(".board-found");
  const counts = { shown: rows.filter((row) => !row.hidden).length, models: rows.length };
  const words = found.dataset.template.replace(/\{(\w+)\}/g, (_, key) => counts[key]);
  if (found.textContent !== words) found.textContent = words;
};

const showLocalTimes = () => {
  const locale = element.querySelector(".board")?.dataset.locale;
  for (const time of element.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
    time.title = moment.toISOString();
  }
};

// The address names the board that is shown, so that it can be shared.
const showAddress = () => {
  const board = element.querySelector(".board");
  if (!board) return;
  const address = new URL(window.location);
  const { category, style } = board.dataset;
  for (const [key, value] of [["category", category], ["style", style === "1" ? style : ""]]) {
    if (value) address.searchParams.set(key, value);
    else address.searchParams.delete(key);
  }
  if (address.href !== window.location.href) window.history.replaceState(null, "", address);
};

// Votes that are being counted are on the board in a moment: it is asked for sooner than usual.
const SOON = 700;
const asking = { timer: null, patience: SOON };
const askAgain = () => {
  const board = () => element.querySelector(".board[data-counting]");
  if (!board()) asking.patience = SOON;
  if (!board() || asking.timer !== null) return;
  asking.timer = window.setTimeout(() => {
    asking.timer = null;
    asking.patience = Math.min(2 * asking.patience, 10000);
    if (!board()) return;
    const { category, style } = board().dataset;
    trigger("select", { category, style: style === "1" ? "1" : "" });
    askAgain();
  }, asking.patience);
};

const restore = () => {
  askAgain();
  showAddress();
  showLocalTimes();
  if (chosen.column) sort();
  filter();
  for (const [key, [left, top]] of Object.entries(chosen.scroll)) {
    const box = element.querySelector(`[data-keep="${key}"]`);
    if (box) [box.scrollLeft, box.scrollTop] = [left, top];
  }
  if (chosen.focus && document.activeElement === document.body) {
    element.querySelector(chosen.focus)?.focus({ preventScroll: true });
  }
};

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-column]");
  if (!button) return;
  const order = button.closest("th").getAttribute("aria-sort");
  chosen.descending = order ? order === "ascending" : "descends" in button.dataset;
  chosen.column = button.dataset.column;
  sort();
});

element.addEventListener("input", (event) => {
  const key = event.target.dataset?.filter;
  if (!key) return;
  chosen[key] = event.target.value;
  filter();
});

element.addEventListener("change", (event) => {
  if (!event.target.dataset?.choice) return;
  const category = element.querySelector('[data-choice="category"]')?.value ?? "";
  const style = element.querySelector('[data-choice="style"]')?.checked ? "1" : "";
  trigger("select", { category, style });
});

element.addEventListener(
  "scroll",
  (event) => {
    const key = event.target.dataset?.keep;
    if (key) chosen.scroll[key] = [event.target.scrollLeft, event.target.scrollTop];
  },
  true,
);

document.addEventListener("focusin", (event) => {
  const { column, keep, choice, filter: wanted } = event.target.dataset ?? {};
  chosen.focus = null;
  if (!element.contains(event.target)) return;
  if (column) chosen.focus = `button[data-column="${column}"]`;
  if (choice) chosen.focus = `[data-choice="${choice}"]`;
  if (wanted) chosen.focus = `[data-filter="${wanted}"]`;
  if (keep) chosen.focus = `[data-keep="${keep}"]`;
});
document.addEventListener("pointerdown", () => {
  chosen.focus = null;
});

watch("value", restore);
restore();
