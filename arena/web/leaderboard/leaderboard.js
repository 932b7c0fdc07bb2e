// Runs once when the board's component loads; `element`, `watch` and `trigger` are Gradio's. The board
// inside `element` is replaced as a whole when there is a newer one: what the visitor chose
// (order, scroll, focus) is remembered here and put back.
const chosen = { column: null, descending: false, focus: null, scroll: {} };

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

const restore = () => {
  showAddress();
  showLocalTimes();
  if (chosen.column) sort();
  for (const [key, left] of Object.entries(chosen.scroll)) {
    const box = element.querySelector(`[data-keep="${key}"]`);
    if (box) box.scrollLeft = left;
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
    if (key) chosen.scroll[key] = event.target.scrollLeft;
  },
  true,
);

document.addEventListener("focusin", (event) => {
  const { column, keep, choice } = event.target.dataset ?? {};
  chosen.focus = null;
  if (!element.contains(event.target)) return;
  if (column) chosen.focus = `button[data-column="${column}"]`;
  if (choice) chosen.focus = `[data-choice="${choice}"]`;
  if (keep) chosen.focus = `[data-keep="${keep}"]`;
});
document.addEventListener("pointerdown", () => {
  chosen.focus = null;
});

watch("value", restore);
restore();
