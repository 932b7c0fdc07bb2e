// From one page to the next on a bad line; `connection.js` runs before.
(() => {
  "use strict";
  const { ask, pause } = window.arenaConnection;
  const { lose } = window.arenaLine;

  // Other pages are gone to once there is somebody to answer.
  const go = async (address) => {
    await ask("/healthz");
    window.location.assign(address);
  };
  window.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a[href]");
    const isPlain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || event.defaultPrevented || link.hasAttribute("download")) return;
    const isOwn = link.origin === window.location.origin && (!link.target || link.target === "_self");
    const isHere = link.hash && link.href.split("#")[0] === window.location.href.split("#")[0];
    if (!isOwn || isHere) return;
    event.preventDefault();
    go(link.href);
  });
  window.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "get") return;
    event.preventDefault();
    const url = new URL(form.action);
    url.search = new URLSearchParams(new FormData(form, event.submitter)).toString();
    go(url.href);
  });

  // A page whose parts did not all arrive is loaded again, before anybody has done anything in it.
  let isBroken = false;
  const mend = async () => {
    if (isBroken || document.querySelector("#site")) return;
    isBroken = true;
    lose();
    await pause(Number(window.sessionStorage.getItem("arena-mended") ?? 0));
    await ask("/healthz");
    const times = Number(window.sessionStorage.getItem("arena-mended") ?? 0);
    window.sessionStorage.setItem("arena-mended", Math.min(times + 1, 10));
    window.location.reload();
  };
  window.addEventListener(
    "error",
    ({ target }) => {
      if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) mend();
    },
    true,
  );
  window.addEventListener("unhandledrejection", ({ reason }) => {
    if (/dynamically imported module|preload/i.test(reason?.message ?? "")) mend();
  });
  window.addEventListener("load", () => {
    if (!isBroken) window.sessionStorage.removeItem("arena-mended");
  });
})();
