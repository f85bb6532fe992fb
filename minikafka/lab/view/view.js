// The page's half of a view: swaps in the picture that Python drew, and turns buttons and keys into messages.
// It draws nothing itself and keeps no state of the cluster: what is enabled follows from the last frame's state.

const KINDS = [["any", "any mark"], ["fault", "fault"], ["election", "election"], ["isr", "ISR change"],
               ["stall", "HW stall"], ["loss", "loss"], ["rebalance", "rebalance"]];
const KEYS = {f: "fault", e: "election", i: "isr", h: "stall", x: "loss", r: "rebalance", m: "any"};
const RUNS = ["running", "held", "slow", "starting", "unknown"];   // processes that can be killed or paused
const DOWN = ["killed", "stopped"];
const SHAPES = {running: "●", killed: "✕", stopped: "■", paused: "‖", held: "◐", slow: "◔", starting: "◌", unknown: "?"};
const ACK_EVERY = 5000;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const button = (text, title, act, extra = {}) =>
  make("button", {type: "button", title, "aria-label": title, onclick: act, ...extra}, text);

// --- the control bar ---------------------------------------------------------------------------------------------

function more(broker, fixed, order) {
  const menu = make("details", {class: "mk-more"});
  const item = (text, name, args) => button(text, `broker ${broker}: ${text}`, () => {
    menu.open = false;
    order(name, args);
  }, {"data-order": name});
  const others = fixed.ids.filter(id => id !== broker);
  menu.append(make("summary", {"aria-label": `more for broker ${broker}`, title: `more for broker ${broker}`}, "more"),
    make("div", {class: "mk-menu"},
      item("stop (controlled shutdown)", "stop", [broker]),
      ...(fixed.faults ? [
        item("slow follower", "slow", [broker]),
        item("hold follower", "hold", [broker]),
        ...others.map(other => item(`cut from broker ${other}`, "cut", [broker, other])),
        item("cut from the clients", "cut", [broker, "clients"])] : [])));
  menu.addEventListener("keydown", event => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
      event.stopPropagation();
    }
  });
  menu.addEventListener("focusout", event => {
    if (!menu.contains(event.relatedTarget)) menu.open = false;
  });
  return menu;
}

function brokerControls(id, fixed, order) {
  const state = make("span", {class: "mk-state"});
  const kill = button("Kill", `kill broker ${id} (kill -9)`, () => order("kill", [id]), {"data-order": "kill"});
  const pause = button("Pause", `pause broker ${id}`, () => order(pause.dataset.order, [id]), {"data-order": "pause"});
  const restart = button("Restart", `restart broker ${id}`, () => order("restart", [id]), {"data-order": "restart"});
  const menu = more(id, fixed, order);
  const node = make("div", {class: "mk-broker", role: "group", "aria-label": `broker ${id}`, "data-broker": id},
    make("span", {class: "mk-name"}, state, ` broker ${id}`), kill, pause, restart, menu);
  function update(process, open, busy) {
    const mine = busy.filter(([name, ...args]) => args.includes(id)).map(([name]) => name);
    const runs = RUNS.includes(process), paused = process === "paused";
    node.dataset.process = process;
    state.textContent = mine.length ? "…" : SHAPES[process] ?? "?";
    state.title = process;
    kill.disabled = !open || !(runs || paused) || mine.includes("kill");
    pause.disabled = !open || !(runs || paused);
    if ((pause.dataset.order === "resume") !== paused) {
      pause.dataset.order = paused ? "resume" : "pause";
      pause.textContent = paused ? "Resume" : "Pause";
      pause.title = `${pause.dataset.order} broker ${id}`;
      pause.setAttribute("aria-label", pause.title);
    }
    restart.disabled = !open || paused || mine.includes("restart");
    for (const entry of menu.querySelectorAll("button")) entry.disabled = !open || !runs;
    menu.classList.toggle("mk-off", !open || !runs);
  }
  return {node, update};
}

function controlBar(fixed, order) {
  const bar = make("div", {class: "mk-bar", role: "toolbar", "aria-label": "break and mend the cluster"});
  const brokers = new Map();
  const ends = [];
  if (fixed.faults) ends.push(button("Heal", "heal all links and disks", () => order("heal", []), {"data-order": "heal"}));
  ends.push(button("Mend all", "heal, resume and restart everything", () => order("mend", []), {"data-order": "mend"}));
  if (fixed.engine === "sim") {
    for (const seconds of [1, 10]) {
      ends.push(button(`+${seconds} s`, `let ${seconds} s of the world pass`, () => order("pass", [seconds]),
        {"data-order": "pass"}));
    }
  }
  const last = make("div", {class: "mk-broker mk-all", role: "group", "aria-label": "the whole cluster"}, ...ends);
  bar.append(last);
  function update(state) {
    for (const [id, process] of state.brokers ?? []) {
      if (!brokers.has(id)) {
        brokers.set(id, brokerControls(id, {...fixed, ids: state.brokers.map(b => b[0])}, order));
        bar.insertBefore(brokers.get(id).node, last);
      }
      brokers.get(id).update(process, state.open, state.busy ?? []);
    }
    for (const one of ends) one.disabled = !state.open;
    bar.hidden = !state.open;
  }
  return {node: bar, update};
}

// --- the time line -----------------------------------------------------------------------------------------------

function ticks(marks, begin, end) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "mk-ticks");
  svg.setAttribute("aria-hidden", "true");
  for (const [t, kind, level, text] of marks) {
    const place = `${(100 * (t - begin) / Math.max(end - begin, 1e-9)).toFixed(2)}%`;
    const line = document.createElementNS(svg.namespaceURI, "line");
    for (const [name, value] of [["x1", place], ["x2", place], ["y1", kind === "fault" || kind === "loss" ? "0" : "35%"],
                                 ["y2", "100%"], ["data-kind", kind], ["data-level", level]]) line.setAttribute(name, value);
    const title = document.createElementNS(svg.namespaceURI, "title");
    title.textContent = `${t.toFixed(1)} s  ${text}`;
    line.append(title);
    svg.append(line);
  }
  return svg;
}

function choice(label, entries, act) {
  return make("select", {"aria-label": label, title: label, onchange: event => act(event.target.value)},
    ...entries.map(([value, text]) => make("option", {value}, text)));
}

function timeBar(fixed, ask) {
  let state = {}, dragging = false, drawn = "";
  const slider = make("input", {type: "range", min: 0, max: 1, step: "any", value: 0, class: "mk-slider",
                                "aria-label": "time of the run, in seconds"});
  slider.addEventListener("input", () => { dragging = true; ask.go(Number(slider.value)); });
  slider.addEventListener("change", () => { dragging = false; });
  const clock = make("span", {class: "mk-clock"});
  const play = button("▶", "play", () => ask.now(state.mode === "play" ? {do: "pause"} : {do: "play", speed: Number(speed.value)}),
                      {class: "mk-play"});
  const live = button("Live", "follow the run", () => ask.now({do: "live"}), {class: "mk-live", "aria-pressed": "false"});
  const kind = choice("jump to which marks", KINDS, () => {});
  const speed = choice("speed", (fixed.speeds ?? [1]).map(s => [s, `${s}×`]),
                       value => { if (state.mode === "play") ask.now({do: "play", speed: Number(value), same: true}); });
  speed.value = "1";
  const partition = choice("partition", [], tp => ask.now({do: "choose", tp}));
  const jump = by => ask.now({do: "jump", kind: kind.value, by});
  const track = make("div", {class: "mk-track"}, ticks([], 0, 1), slider);
  const node = make("div", {class: "mk-time", role: "group", "aria-label": "time"},
    make("div", {class: "mk-row"}, play, track, clock, live),
    make("div", {class: "mk-row mk-second"},
      button("◀ event", "one event back (left arrow)", () => ask.now({do: "step", by: -1}), {class: "mk-back"}),
      button("event ▶", "one event on (right arrow)", () => ask.now({do: "step", by: 1}), {class: "mk-on"}),
      make("span", {class: "mk-gap"}),
      button("◀◀", "previous mark (shift and left arrow)", () => jump(-1), {class: "mk-previous"}), kind,
      button("▶▶", "next mark (shift and right arrow)", () => jump(1), {class: "mk-next"}),
      make("span", {class: "mk-gap"}), make("label", {}, "speed ", speed),
      make("label", {class: "mk-tp"}, "partition ", partition)));
  function update(next, marks) {
    state = next;
    slider.min = state.begin ?? 0;
    slider.max = Math.max(state.end ?? 1, (state.begin ?? 0) + 1e-6);
    if (!dragging) slider.value = state.t ?? 0;
    const near = marks.filter(m => Math.abs(m[0] - state.t) < 0.05).map(m => m[3]).join(", ");
    slider.setAttribute("aria-valuetext", `${(state.t ?? 0).toFixed(1)} seconds${near ? ": " + near : ""}`);
    clock.textContent = `${(state.t ?? 0).toFixed(1)} / ${(state.end ?? 0).toFixed(1)} s`;
    play.textContent = state.mode === "play" ? "‖" : "▶";
    play.title = state.mode === "play" ? "pause (space)" : "play (space)";
    play.setAttribute("aria-label", play.title);
    live.hidden = !state.open;
    live.setAttribute("aria-pressed", String(state.mode === "live"));
    const names = state.partitions ?? [];
    if (partition.options.length !== names.length) partition.replaceChildren(...names.map(n => make("option", {value: n}, n)));
    if (state.tp && partition.value !== state.tp && document.activeElement !== partition) partition.value = state.tp;
    partition.parentElement.hidden = names.length < 2;
    const key = `${marks.length} ${state.begin} ${Math.round((state.end ?? 0) * 2)}`;
    if (key !== drawn) {
      drawn = key;
      track.replaceChild(ticks(marks, state.begin ?? 0, state.end ?? 1), track.firstChild);
    }
  }
  return {node, update, jump, toggle: () => play.click()};
}

// --- keys, and the way to Python -----------------------------------------------------------------------------------

function keyboard(root, time, ask) {
  root.addEventListener("keydown", event => {
    event.stopPropagation();  // the notebook's own shortcuts would delete cells
    const inside = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || inside === "SELECT") return;
    const arrow = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (arrow) event.shiftKey ? time.jump(arrow) : ask.now({do: "step", by: arrow});
    else if (event.key === " " && inside !== "BUTTON" && inside !== "SUMMARY") time.toggle();
    else if (event.key === "l") ask.now({do: "live"});
    else if (event.key === "Home" && inside !== "BUTTON") ask.go(0);
    else if (KEYS[event.key.toLowerCase()]) {
      ask.now({do: "jump", kind: KEYS[event.key.toLowerCase()], by: event.shiftKey ? -1 : 1});
    } else return;
    event.preventDefault();
  });
}

function asking(model) {
  let number = 0, waitingFor = 0, next = null;
  const now = message => {
    number += 1;
    next = null;
    model.send({...message, n: number});
  };
  return {
    now,
    go(t) {  // one request at a time: a slow kernel is asked for the newest place, not for all on the way
      if (waitingFor) next = t;
      else { now({do: "go", t}); waitingFor = number; }
    },
    granted(n) {
      if (!waitingFor || n < waitingFor) return;
      waitingFor = 0;
      if (next !== null) this.go(next);
    },
  };
}

function swap(stage, text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return;
  const svg = document.importNode(parsed, true);
  if (stage.firstElementChild) stage.replaceChild(svg, stage.firstElementChild);
  else stage.append(svg);
}

function watchSight(root, model) {
  let inSight = true, told = true;
  const tell = () => {
    const on = inSight && !document.hidden;
    if (on !== told) model.send({do: "visible", on: told = on});
  };
  const observer = new IntersectionObserver(entries => { inSight = entries.at(-1).isIntersecting; tell(); });
  observer.observe(root);
  document.addEventListener("visibilitychange", tell);
  return () => { observer.disconnect(); document.removeEventListener("visibilitychange", tell); };
}

function render({model, el}) {
  const fixed = model.get("fixed");
  const ask = asking(model);
  const order = (name, args) => model.send({do: "order", name, args});
  const bar = fixed.controls && fixed.engine ? controlBar(fixed, order) : null;
  const stage = make("div", {class: "mk-stage", role: "img", tabindex: "0"});
  const time = timeBar(fixed, ask);
  const said = make("div", {class: "mk-said", role: "status", "aria-live": "polite"});
  const root = make("div", {class: "mk-view", "data-size": fixed.size, "data-theme": fixed.theme,
                            "data-lm-suppress-shortcuts": "true"}, ...(bar ? [bar.node] : []), stage, time.node, said);
  el.append(root);
  keyboard(root, time, ask);
  let answered = 0;
  const ack = () => {
    if (performance.now() - answered < ACK_EVERY) return;
    answered = performance.now();
    model.send({do: "ack"});
  };
  const showPicture = () => { swap(stage, model.get("svg")); ack(); };
  const showState = () => {
    const state = model.get("state");
    stage.setAttribute("aria-label", state.sentence ?? "the cluster");
    bar?.update(state);
    time.update(state, model.get("marks"));
    ask.granted(state.granted ?? 0);
    ack();
  };
  const showSaid = () => {
    const line = model.get("said");
    said.textContent = line.text ?? "";
    said.dataset.level = line.level ?? "";
  };
  const handlers = {"change:svg": showPicture, "change:state": showState, "change:marks": showState, "change:said": showSaid};
  for (const [name, handler] of Object.entries(handlers)) model.on(name, handler);
  showPicture();
  showState();
  showSaid();
  model.send({do: "hello"});
  const unwatch = watchSight(root, model);
  return () => {
    unwatch();
    for (const [name, handler] of Object.entries(handlers)) model.off(name, handler);
  };
}

export default {render};
