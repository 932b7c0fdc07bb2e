// The line at the foot of a page that says how it stands with the connection, and what was not done.
(() => {
  "use strict";
  const words = document.querySelector('meta[name="arena-connection"]').dataset;
  const STAYS = { back: 3000, ...window.arenaLimits }; // milliseconds
  const line = document.createElement("div");
  line.id = "connection";
  line.dataset.losses = "0";
  line.innerHTML = '<p role="status"></p><p role="alert"></p>';
  const [state, notice] = line.children;
  // Empty at first: a region that comes with its words is not read out.
  const place = () => document.body && !line.isConnected && document.body.append(line);
  document.addEventListener("DOMContentLoaded", place);

  let fading = 0;
  const say = (what) => {
    if (line.dataset.state === what) return;
    place();
    window.clearTimeout(fading);
    line.dataset.state = what;
    state.textContent = what ? words[what] : "";
    if (what === "back") fading = window.setTimeout(() => say(""), STAYS.back);
  };
  const isLost = () => line.dataset.state === "lost";

  window.arenaLine = {
    say,
    isLost,
    lose: () => {
      if (!isLost()) line.dataset.losses = Number(line.dataset.losses) + 1;
      say("lost");
    },
    find: () => {
      if (isLost() || line.dataset.state === "slow") say("back");
    },
    tell: (what) => {
      place();
      notice.className = what ? "notice" : "";
      if (notice.textContent !== what) notice.textContent = what;
    },
  };
})();
