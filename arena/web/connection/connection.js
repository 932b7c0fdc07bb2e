// A bad line, kept from Gradio: its client drops every event after one lost request until the page is
// loaded anew. This runs before it and answers its requests itself. A request that was lost is
// sent again; a stream that broke goes on in a new one, into which the events that were open are
// sent once more. That is safe because every event counts once however often it is sent.
(() => {
  "use strict";
  const { layout, full, many, failed } =
    document.querySelector('meta[name="arena-connection"]').dataset;
  const { say, tell, lose, find, isLost } = window.arenaLine;
  const send = window.fetch.bind(window);
  // Milliseconds. The server gives a sign of life every 5 seconds (`GRADIO_ENVIRONMENT`).
  const LIMITS = {
    first: 300, // wait before the second try
    longest: 5000, // wait between two tries
    answer: 25000, // for a request; longer with every try
    silence: 20000, // of a stream that is taken for dead
    slow: 10000, // until the page says that it waits, and looks whether anybody answers
    probe: 4000, // for that
    ...window.arenaLimits,
  };
  // What proxies answer for a server that is not there, Cloudflare's among them.
  const NOBODY = [408, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530];

  // Waiting, and being woken

  let leaving = false;
  const returned = () =>
    new Promise((resolve) => window.addEventListener("pageshow", resolve, { once: true }));
  const sleepers = new Set();
  const pause = (tries) =>
    new Promise((resolve) => {
      const wake = () => {
        window.clearTimeout(timer);
        sleepers.delete(wake);
        resolve();
      };
      const wait = Math.min(LIMITS.longest, LIMITS.first * 2 ** tries);
      const timer = window.setTimeout(wake, wait * (0.75 + Math.random() / 2));
      sleepers.add(wake);
    });
  const hurry = () => {
    for (const wake of [...sleepers]) wake();
    stream?.guard?.doubt();
  };
  window.addEventListener("online", () => {
    hurry();
    // At rest nothing is on its way that would tell.
    if (!open.size) ask("/healthz").then(find);
  });
  document.addEventListener("visibilitychange", () => document.hidden || hurry());

  // Requests

  const isJson = (answer) => (answer.headers.get("content-type") ?? "").includes("json");
  // A 503 of Gradio's own says that its queue is full; anything else of that kind is no answer.
  const isAnswer = (answer, text) =>
    NOBODY.includes(answer.status)
      ? answer.status === 503 && isJson(answer) && text.includes("Queue is full")
      : !answer.ok || isJson(answer);

  // Whether the server answers at all. A browser keeps up to six connections for the next
  // request: where the line has died unseen all of them are dead, and each would take a request with
  // it. Asked on all at once, the dead ones are closed.
  const probe = async () => {
    const ask = () =>
      send("/healthz", { cache: "no-store", signal: AbortSignal.timeout(LIMITS.probe) });
    const answers = await Promise.allSettled(Array.from({ length: 6 }, ask));
    return answers.some(({ value }) => value?.ok);
  };

  // An answer, however long it takes; `make` gives the request anew for every try.
  const ask = async (address, make = () => ({})) => {
    for (let tries = 0; ; tries += 1) {
      const control = new AbortController();
      const limit = window.setTimeout(() => control.abort(), LIMITS.answer * (tries + 1));
      const doubt = async () => {
        if (!isLost()) say("slow");
        if (await probe()) control.abort(); // it would have answered us as well
      };
      const waiting = window.setTimeout(doubt, LIMITS.slow * (tries + 1));
      try {
        const answer = await send(address, { ...make(), signal: control.signal });
        const text = await answer.text();
        if (answer.status === 409 && answer.headers.has("x-arena-layout")) await reload(answer);
        else if (isAnswer(answer, text)) {
          find();
          return new Response(text, { status: answer.status, headers: answer.headers });
        }
      } catch {
        // No line, a reset, half an answer, or none in time.
      } finally {
        window.clearTimeout(limit);
        window.clearTimeout(waiting);
      }
      if (leaving) await returned();
      else {
        lose();
        await pause(tries);
      }
    }
  };

  // The server has been upgraded and its events have other numbers: once the page must be loaded
  // again. Where two editions run side by side it may get the old one again, and then waits.
  const reload = async (answer) => {
    const edition = answer.headers.get("x-arena-layout");
    if (window.sessionStorage.getItem("arena-layout") === edition) return;
    window.sessionStorage.setItem("arena-layout", edition);
    leaving = true;
    window.location.reload();
    await returned();
  };

  // Events: Gradio's id → what was sent, and where the server has it

  const open = new Map();
  let generation = 0; // of the session: a dead stream may still drain the one before
  let joining = 0;
  const early = []; // messages for events whose ids are not known yet
  const session = (hash) => (generation ? `${hash}-${generation}` : hash);
  const outputsOf = (number) =>
    window.gradio_config?.dependencies.find((event) => event.id === number)?.outputs ?? [];
  const unchanged = (number) => outputsOf(number).map(() => ({ __type__: "update" }));

  const post = (address, init, change) =>
    ask(address, () => ({
      ...init,
      headers: { ...Object.fromEntries(new Headers(init.headers)), "x-arena-layout": layout },
      body: JSON.stringify(change(JSON.parse(init.body))),
    }));
  const withSession = (body) =>
    body.session_hash ? { ...body, session_hash: session(body.session_hash) } : body;

  // Puts an event into the server's queue; it is known there by the id that comes back.
  const put = async (event) => {
    const answer = await post(event.address, event.init, (body) => {
      event.generation = generation;
      return withSession(body);
    });
    event.isFresh = true;
    event.id = answer.ok ? (await answer.json()).event_id : null;
    if (event.id === null) event.refusal = { 429: many, 503: full }[answer.status] ?? failed;
  };

  let made = 0;
  const join = async (address, init) => {
    tell("");
    const event = { address, init, number: JSON.parse(init.body).fn_index, heard: false };
    joining += 1;
    try {
      do await put(event);
      while (event.id !== null && event.generation !== generation);
    } finally {
      joining -= 1;
    }
    const id = event.id ?? `refused-${(made += 1)}`;
    open.set(id, event);
    if (event.id === null) refuse(id, event);
    for (const message of early.splice(0)) take(message);
    if (stream?.isIdle) carry(stream);
    return Response.json({ event_id: id });
  };

  // What the server does not do ends quietly: what is shown stays, and the reason is beside it.
  const refuse = (id, event) => {
    tell(event.refusal || failed);
    end(id, event);
    document.dispatchEvent(new CustomEvent("arena:unanswered"));
  };
  const end = (id, event) => {
    open.delete(id);
    const output = { data: unchanged(event.number), is_generating: false };
    emit({ msg: "process_completed", event_id: id, success: true, output });
  };

  const cancel = async (address, init) => {
    const { event_id: id } = JSON.parse(init.body);
    const event = open.get(id);
    if (event) event.isCancelled = true;
    if (event && event.generation !== generation) {
      end(id, event);
      return Response.json({ success: true });
    }
    const change = (body) => ({ ...withSession(body), event_id: event?.id ?? id });
    return post(address, init, change);
  };

  // What Gradio calls without its queue: a page that is not answered stays as it is.
  const run = async (address, init) => {
    const answer = await post(address, init, withSession);
    if (answer.ok) return answer;
    tell(failed);
    const number = JSON.parse(init.body).fn_index;
    return Response.json({ data: unchanged(number), is_generating: false });
  };

  // The stream that Gradio reads, over as many as it takes

  let stream = null;
  const backlog = []; // for a stream that Gradio is about to open
  const emit = (message) => (stream ? stream.emit(message) : backlog.push(message));

  const listen = (address, signal) => {
    const encoder = new TextEncoder();
    const own = { address, isOpen: true, isIdle: false };
    const body = new ReadableStream({
      start: (reader) => {
        own.emit = (message) => {
          if (own.isOpen) reader.enqueue(encoder.encode(`data: ${JSON.stringify(message)}\n\n`));
        };
        own.close = () => {
          own.emit({ msg: "close_stream" });
          if (own.isOpen) reader.close();
          drop();
        };
      },
      cancel: () => drop(),
    });
    const drop = () => {
      own.isOpen = false;
      own.control?.abort();
      if (stream === own) stream = null;
    };
    stream = own;
    signal?.addEventListener("abort", drop);
    for (const message of backlog.splice(0)) own.emit(message);
    carry(own);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  const carry = async (own) => {
    own.isIdle = false;
    for (let tries = 0; own === stream && open.size && !leaving; tries += 1) {
      try {
        await read(own, () => (tries = -1));
      } catch {
        if (own !== stream || leaving) return;
        lose();
        generation += 1;
        await pause(Math.max(tries, 0));
      }
    }
    if (own !== stream || leaving) return;
    // An event that is being sent will be heard here: Gradio takes this stream for open.
    if (joining) own.isIdle = true;
    else own.close();
  };

  // One stream of the server, up to its end; throws where it breaks.
  const read = async (own, heard) => {
    for (const [id, event] of [...open]) {
      if (event.isCancelled && event.generation !== generation) end(id, event);
      else if (event.generation !== generation) await put(event);
      if (event.id === null && open.has(id)) refuse(id, event);
    }
    if (!open.size) return;
    own.control = new AbortController();
    const url = new URL(own.address);
    url.searchParams.set("session_hash", session(url.searchParams.get("session_hash")));
    const guard = watch(own.control);
    own.guard = guard;
    try {
      const headers = { accept: "text/event-stream" };
      const answer = await send(url, { headers, cache: "no-store", signal: own.control.signal });
      const kind = answer.headers.get("content-type") ?? "";
      if (!answer.ok || !kind.startsWith("text/event-stream")) throw new Error("no stream");
      const lines = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await lines.read();
        if (done) throw new Error("the stream ended without saying so");
        guard.hear();
        const parts = (rest + value).split("\n");
        rest = parts.pop();
        for (const part of parts) {
          if (!part.startsWith("data:")) continue;
          find();
          const message = JSON.parse(part.slice(5));
          if (message.msg === "close_stream") return;
          if (message.msg === "heartbeat") continue;
          take(message);
          heard();
        }
      }
    } finally {
      guard.stop();
      own.control.abort();
    }
  };

  // Ends a stream that has been silent for too long while the page was awake.
  const watch = (control) => {
    let silent = 0;
    let isDoubted = false;
    let last = performance.now();
    const step = 250;
    const timer = window.setInterval(() => {
      const now = performance.now();
      silent += Math.min(now - last, 4 * step); // a tab that slept has missed nothing yet
      last = now;
      if (silent > LIMITS.silence) control.abort();
      if (silent < LIMITS.slow || isDoubted) return;
      isDoubted = true;
      if (!isLost()) say("slow");
      probe().then((isThere) => isThere && silent > LIMITS.slow && control.abort());
    }, step);
    return {
      hear: () => {
        silent = 0;
        isDoubted = false;
      },
      // Something has changed: what does not speak soon is dead.
      doubt: () => (silent = Math.max(silent, LIMITS.slow - 6000)),
      stop: () => window.clearInterval(timer),
    };
  };

  // A message of the server for the event as Gradio knows it.
  const take = (message) => {
    if (!message.event_id) throw new Error(message.message ?? "the stream is lost");
    const [id, event] = [...open].find(([, each]) => each.id === message.event_id) ?? [];
    if (!event) {
      if (joining) early.push(message);
      return;
    }
    const isEnd = message.msg === "process_completed";
    if (isEnd && !message.success) {
      event.refusal = message.output?.error;
      refuse(id, event);
      return;
    }
    if (message.msg === "process_generating" && message.success) {
      // Sent again, an event begins with all it has to show; Gradio expects what is new.
      if (event.heard && event.isFresh) {
        message.output.data = message.output.data.map((value) => [["replace", [], value]]);
      }
      event.heard = true;
      event.isFresh = false;
    }
    if (isEnd) open.delete(id);
    emit({ ...message, event_id: id });
  };

  // The door

  const ROUTES = {
    "queue/join": join,
    cancel,
    reset: cancel,
    "run/predict": run,
  };
  window.fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input, document.baseURI);
    const [, route] = url.pathname.match(/\/gradio_api\/(.+)$/) ?? [];
    if (url.origin !== window.location.origin || route === undefined) return send(input, init);
    if (route === "queue/data") return Promise.resolve(listen(url, input.signal ?? init?.signal));
    if (ROUTES[route] && typeof init?.body === "string") return ROUTES[route](url, init);
    if (route.startsWith("heartbeat/") || (init?.method ?? input.method ?? "GET") !== "GET") {
      return send(input, init);
    }
    return ask(url, () => ({ headers: init?.headers ?? input.headers }));
  };

  // Leaving: what the browser cuts off is no loss, and nobody is told. A page that it keeps and
  // shows again goes on.
  window.addEventListener("pagehide", () => {
    leaving = true;
    stream?.control?.abort();
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    leaving = false;
    generation += 1;
    if (stream) carry(stream);
  });

  window.arenaConnection = { ask, pause, pending: () => open.size + joining };
})();
