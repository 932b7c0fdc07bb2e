// Runs once for each panel when it loads; `element`, `props` and `watch` are Gradio's. The value is a
// list of turns, whose blocks are HTML from our own server; a block that has not changed is left
// as it is, so that a selection and an opened part stay.
const log = element.querySelector(".panel-log");
const list = log.querySelector(".panel-turns");
const told = log.dataset;
const shown = []; // of each turn: its parts in the page and what stands in them

const make = (tag, className, parent) => {
  const part = document.createElement(tag);
  part.className = className;
  parent.append(part);
  return part;
};

const copy = async (text) => {
  // Where the page came over plain HTTP, browsers have no clipboard for it.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = make("textarea", "copy-box", document.body);
  box.value = text;
  box.select();
  document.execCommand("copy");
  box.remove();
};

const copyButton = (parent, read) => {
  const button = make("button", "copy", parent);
  button.type = "button";
  button.textContent = told.copy;
  button.addEventListener("click", async () => {
    await copy(read());
    button.textContent = told.copied;
    window.setTimeout(() => (button.textContent = told.copy), 1500);
  });
  return button;
};

const begin = () => {
  const turn = make("section", "turn", list);
  const asked = make("div", "message user", turn);
  asked.dir = "auto";
  asked.setAttribute("role", "group");
  asked.setAttribute("aria-label", told.prompt);
  const parts = { turn, asked, blocks: [], text: "", answer: null };
  shown.push(parts);
  return parts;
};

const answer = (parts) => {
  const box = make("div", "message bot", parts.turn);
  box.dir = "auto";
  const tools = make("div", "message-tools", parts.turn);
  copyButton(tools, () => parts.text);
  return box;
};

// What needs the page: formulas are set, code gets its button. `html` is the server's.
const dress = (html) => {
  const block = document.createElement("div");
  block.className = "block-of-answer";
  block.innerHTML = html;
  for (const code of block.querySelectorAll("pre")) {
    const box = document.createElement("div");
    box.className = "code-box";
    code.replaceWith(box);
    box.append(code);
    copyButton(box, () => code.textContent);
  }
  const formulas = block.querySelectorAll(".math");
  if (formulas.length && told.formulas) setFormulas(formulas);
  return block;
};

const MARKS = [/^\$\$([^]*)\$\$$/, /^\\\[([^]*)\\\]$/, /^\\\(([^]*)\\\)$/, /^\$([^]*)\$$/];
const setFormulas = async (formulas) => {
  if (!document.querySelector("link[data-formulas]")) {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = told.formulaStyle;
    link.dataset.formulas = "";
    document.head.append(link);
  }
  const { default: katex } = await import(told.formulas);
  for (const formula of formulas) {
    const written = formula.textContent;
    const found = MARKS.map((mark) => written.match(mark)).find(Boolean);
    const displayMode = formula.classList.contains("math-display");
    try {
      katex.render(found[1], formula, { displayMode, throwOnError: true, strict: "ignore", maxExpand: 500 });
    } catch {
      formula.textContent = written; // what is no formula stays what it is
      formula.classList.add("math-plain");
    }
  }
};

const write = (parts, { prompt, text, blocks }) => {
  if (parts.asked.textContent !== prompt) parts.asked.textContent = prompt;
  parts.text = text;
  if (!text && !parts.answer) return;
  parts.answer ??= answer(parts);
  while (parts.blocks.length > blocks.length) parts.blocks.pop().block.remove();
  blocks.forEach((html, number) => {
    const old = parts.blocks[number];
    if (old?.html === html) return;
    const block = dress(html);
    if (old) old.block.replaceWith(block);
    else parts.answer.append(block);
    parts.blocks[number] = { html, block };
  });
};

// A new turn is shown from its prompt on, and then stays: text that moves while somebody reads
// cannot be compared. The style sheet leaves room below it, so that it can stand at the top.
let turns = 0;
let isPlaced = false; // until somebody scrolls
const place = () => {
  const { turn } = shown[turns - 1];
  log.scrollTop += turn.getBoundingClientRect().top - log.getBoundingClientRect().top - 10;
  isPlaced = true;
};
const bringToTop = () => {
  if (turns === shown.length) return;
  turns = shown.length;
  if (told.follows && turns) place();
};
// Earlier turns grow when their formulas are set, the panel when a battle is restored.
const keepAtTop = () => {
  if (turns && isPlaced) place();
};
for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  log.addEventListener(kind, () => (isPlaced = false), { passive: true });
}

const show = () => {
  const value = Array.isArray(props.value) ? props.value : [];
  log.classList.toggle("is-empty", value.length === 0);
  while (shown.length > value.length) shown.pop().turn.remove();
  value.forEach((turn, number) => write(shown[number] ?? begin(), turn));
  bringToTop();
};

watch("value", show);
show();
const sizes = new ResizeObserver(() => {
  log.style.setProperty("--log-height", `${log.clientHeight}px`);
  keepAtTop();
});
sizes.observe(log);
sizes.observe(list);
