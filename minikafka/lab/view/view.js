// The page's half of a view: swaps in the picture that Python drew, and turns buttons and keys into messages.
// It draws nothing itself and keeps no state of the cluster: what is enabled follows from the last frame's state.

const KINDS = [["any", "any mark"], ["fault", "fault"], ["election", "election"], ["isr", "ISR change"],
               ["stall", "HW stall"], ["loss", "loss"], ["rebalance", "rebalance"]];
const KEYS = {f: "fault", e: "election", i: "isr", h: "stall", x: "loss", r: "rebalance", m: "any"};
const RUNS = ["running", "cut", "held", "slow", "starting", "unknown"];   // processes that can be killed or paused
const DOWN = ["killed", "stopped"];
const SHAPES = {running: "", killed: "✕", died: "✕", stopped: "■", paused: "‖", cut: "¦", held: "◐", slow: "◔", starting: "◌", unknown: "?"};
const ACK_EVERY = 5000;
const NEAR = 3;  // pixels beside a sign that count as on it
const STEP = 10, RESTS = 150;  // pixels of width that make a difference; milliseconds
const LEAST_WIDE = 450;  // pixels of a picture (view.css too): in a narrower place it is scrolled, so that its letters can be read
const LINES = 1080;  // of the screen that a projector's picture is made for

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

// Name, Kill, Pause and Restart of a process: a broker or a controller, by its number, or a member of a group that the notebook
// started, by its name.
function processControls(id, what, order) {
  const state = make("span", {class: "mk-state"}), badge = make("span", {class: "mk-name"}, String(id), state);
  const kill = button("Kill", `kill ${what} ${id} (kill -9)`, () => order("kill", [id]), {"data-order": "kill"});
  const pause = button("Pause", `pause ${what} ${id}`, () => order(pause.dataset.order, [id]), {"data-order": "pause"});
  const restart = button("Restart", `restart ${what} ${id}`, () => order("restart", [id]), {"data-order": "restart"});
  const node = make("div", {class: `mk-${what}`, role: "group", "aria-label": `${what} ${id}`, [`data-${what}`]: id},
    badge, kill, pause, restart);
  function update(process, open, busy) {
    const mine = busy.filter(([name, ...args]) => args.includes(id)).map(([name]) => name);
    const runs = RUNS.includes(process), paused = process === "paused";
    node.dataset.process = process;
    state.textContent = mine.length ? "…" : SHAPES[process] ?? "?";
    badge.title = `${what} ${id}: ${process}`;
    kill.disabled = !open || !(runs || paused) || mine.includes("kill");
    pause.disabled = !open || !(runs || paused);
    if ((pause.dataset.order === "resume") !== paused) {
      pause.dataset.order = paused ? "resume" : "pause";
      pause.textContent = paused ? "Resume" : "Pause";
      pause.title = `${pause.dataset.order} ${what} ${id}`;
      pause.setAttribute("aria-label", pause.title);
    }
    restart.disabled = !open || paused || mine.includes("restart");
    return runs;
  }
  return {node, update};
}

function brokerControls(id, fixed, order) {
  const process = processControls(id, "broker", order);
  const menu = more(id, fixed, order);
  process.node.append(menu);
  function update(state, open, busy) {
    const runs = process.update(state, open, busy);
    for (const entry of menu.querySelectorAll("button")) entry.disabled = !open || !runs;
    menu.classList.toggle("mk-off", !open || !runs);
  }
  return {node: process.node, update};
}

function controlBar(fixed, order) {
  const bar = make("div", {class: "mk-bar", role: "toolbar", "aria-label": "break and mend the cluster"});
  const brokers = new Map(), controllers = new Map(), members = new Map();
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
    for (const [id, process] of state.controllers ?? []) {
      if (!controllers.has(id)) {
        controllers.set(id, processControls(id, "controller", order));
        bar.insertBefore(controllers.get(id).node, last);
      }
      controllers.get(id).update(process, state.open, state.busy ?? []);
    }
    const there = new Map(state.members ?? []);
    for (const [name, {node}] of members) if (!there.has(name)) { node.remove(); members.delete(name); }
    for (const [name, process] of there) {
      if (!members.has(name)) {
        members.set(name, processControls(name, "member", order));
        bar.append(members.get(name).node);
      }
      members.get(name).update(process, state.open, state.busy ?? []);
    }
    for (const one of ends) one.disabled = !state.open;
    bar.hidden = !state.open;
  }
  return {node: bar, update};
}

// --- the time line -----------------------------------------------------------------------------------------------

function choice(label, entries, act) {
  return make("select", {"aria-label": label, title: label, onchange: event => act(event.target.value)},
    ...entries.map(([value, text]) => make("option", {value}, text)));
}

// The slider lies, transparent, on the picture's own time line: one line to look at, and keys and screen readers find a slider.
function timeSlider(stage, ask) {
  let dragging = false;
  const slider = make("input", {type: "range", min: 0, max: 1, step: "any", value: 0, class: "mk-slider",
                                "aria-label": "time of the run, in seconds"});
  slider.addEventListener("input", () => { dragging = true; ask.go(Number(slider.value)); });
  slider.addEventListener("change", () => { dragging = false; });
  slider.addEventListener("click", event => {
    const mark = document.elementsFromPoint(event.clientX, event.clientY).map(n => n.closest('[data-part="mark"]')).find(n => n);
    if (mark) ask.now({do: "go", t: Number(mark.dataset.t)});
  });
  function place() {  // where the picture's line is seen
    const line = stage.querySelector('svg [data-part="timeline"] .thick')?.getBoundingClientRect();
    const from = stage.getBoundingClientRect();
    slider.classList.toggle("mk-unplaced", !line);
    if (!line?.width) return;
    slider.style.left = `${line.left - from.left + stage.scrollLeft - 10}px`;
    slider.style.width = `${line.width + 20}px`;
    slider.style.top = `${(line.top + line.bottom) / 2 - from.top + stage.scrollTop - 10}px`;
  }
  function update(state, marks) {
    const begin = state.begin ?? 0, t = state.t ?? 0;
    slider.min = begin;
    slider.max = Math.max(state.end ?? 1, begin + 1e-6);
    if (!dragging) slider.value = t;
    const near = marks.filter(m => Math.abs(m[0] - t) < 0.05).map(m => m[3]).join(", ");
    slider.setAttribute("aria-valuetext", `${t.toFixed(1)} seconds${near ? ": " + near : ""}`);
  }
  return {node: slider, place, update};
}

function timeBar(fixed, ask) {
  let state = {};
  const clock = make("span", {class: "mk-clock"});
  const begin = () => ask.now({do: "play", speed: Number(speed.value)});
  const play = button("▶", "play (space)", () => state.mode === "play" ? ask.now({do: "pause"}) : begin(), {class: "mk-play"});
  const live = button("Live", "follow the run (L)", () => ask.now({do: "live"}), {class: "mk-live", "aria-pressed": "false"});
  const kind = choice("jump to which marks", KINDS, () => {});
  const speed = choice("speed", (fixed.speeds ?? [1]).map(s => [s, `${s}×`]), () => { if (state.mode === "play") begin(); });
  speed.value = "1";
  const partition = choice("partition", [], tp => ask.now({do: "choose", tp}));
  const jump = by => ask.now({do: "jump", kind: kind.value, by});
  const node = make("div", {class: "mk-time", role: "group", "aria-label": "time"},
    live, play, speed, clock,
    button("◀", "one event back (left arrow)", () => ask.now({do: "step", by: -1}), {class: "mk-back"}), make("span", {class: "mk-word"}, "event"),
    button("▶", "one event on (right arrow)", () => ask.now({do: "step", by: 1}), {class: "mk-on"}),
    make("span", {class: "mk-gap"}),
    button("◀", "previous mark (shift and left arrow)", () => jump(-1), {class: "mk-previous"}), kind,
    button("▶", "next mark (shift and right arrow)", () => jump(1), {class: "mk-next"}),
    make("label", {class: "mk-tp"}, "partition ", partition));
  function update(next) {
    state = next;
    clock.textContent = `${(state.t ?? 0).toFixed(1)} of ${(state.end ?? 0).toFixed(1)} s`;
    play.textContent = state.mode === "play" ? "‖" : "▶";
    play.title = state.mode === "play" ? "pause (space)" : "play (space)";
    play.setAttribute("aria-label", play.title);
    live.hidden = !state.open;
    live.setAttribute("aria-pressed", String(state.mode === "live"));
    const names = state.partitions ?? [];
    if (partition.options.length !== names.length) partition.replaceChildren(...names.map(n => make("option", {value: n}, n)));
    if (state.tp && partition.value !== state.tp && document.activeElement !== partition) partition.value = state.tp;
    partition.parentElement.hidden = names.length < 2;
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

// `speed`: of the run as it is shown; 0: nothing moves.
function swap(stage, text, speed) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return;
  const svg = document.importNode(parsed, true), before = stage.querySelector(":scope > svg");
  const was = before && speed ? places(before) : new Map(), wide = before?.clientWidth;
  if (before) stage.replaceChild(svg, before);
  else stage.prepend(svg);
  if (speed && wide === svg.clientWidth && before.viewBox.baseVal.width === svg.viewBox.baseVal.width) move(svg, was, speed);
}

// --- the legend --------------------------------------------------------------------------------------------------

// The row of the table for an element: a finger goes by its kind, an entry of the ledger by its name.
function signOf(part, legend) {
  const {part: name, kind, name: entry} = part.dataset;
  const key = [`${name} ${entry}`, name === "finger" ? kind : name].find(key => legend[key]);
  return key ? {part, key} : null;
}

// The smallest sign under the mouse, by its box: lines and crowns are too thin to be pointed at.
function signAt(signs, x, y) {
  const boxes = signs.map(sign => ({sign, box: sign.part.getBoundingClientRect()}));
  const under = boxes.filter(({box}) => box.left - NEAR <= x && x <= box.right + NEAR && box.top - NEAR <= y && y <= box.bottom + NEAR);
  const area = ({box}) => (box.width + NEAR) * (box.height + NEAR);
  return under.sort((a, b) => area(a) - area(b))[0]?.sign ?? null;
}

// What a sign means, in a sentence beside it: under the mouse, and for keys. One sign of each kind can have the focus; Tab goes to
// the first, up and down to the others. The picture is drawn anew all the time: `drawn` gives the new one the old one's focus, and
// looks again what lies under a mouse that rests.
function legendOf(stage, legend) {
  const note = make("div", {class: "mk-legend", role: "tooltip", hidden: ""});
  let focused = null, here = null, all = [];
  let mouse = null, keys = false;  // where the mouse is; whether a key moved the focus since the mouse moved
  const first = () => [...stage.querySelectorAll(".mk-sign")];
  const show = sign => {
    here = sign?.key ?? null;
    note.hidden = !sign;
    if (!sign) return;
    note.textContent = legend[sign.key];
    const at = sign.part.getBoundingClientRect(), from = stage.getBoundingClientRect();
    const below = at.bottom + note.offsetHeight + 8 < Math.min(from.bottom, innerHeight);
    note.style.left = `${Math.max(4, Math.min(at.left - from.left, stage.clientWidth - note.offsetWidth - 4)) + stage.scrollLeft}px`;
    note.style.top = `${(below ? at.bottom - from.top + 6 : at.top - from.top - note.offsetHeight - 6) + stage.scrollTop}px`;
  };
  stage.append(note);
  const point = () => {
    const sign = signAt(all, ...mouse);
    if (sign?.key !== here) show(sign);
  };
  const pointAt = event => {
    mouse = [event.clientX, event.clientY];
    point();
  };
  stage.addEventListener("pointermove", event => { keys = false; pointAt(event); });
  stage.addEventListener("pointerover", event => { if (!keys) pointAt(event); });  // a picture has come under a resting mouse
  stage.addEventListener("pointerleave", () => { mouse = null; show(null); });
  stage.addEventListener("focusin", event => {
    const sign = event.target.matches(".mk-sign") ? signOf(event.target, legend) : null;
    if (sign && sign.key === focused && mouse) return;  // a new picture has the old one's focus: the mouse moved later
    focused = sign?.key ?? null;
    if (sign) { keys = true; mouse = null; }
    if (!mouse) show(sign);
  });
  stage.addEventListener("focusout", () => setTimeout(() => {  // by then a new picture has the focus of the old one
    if (stage.contains(document.activeElement)) return;
    focused = null;
    show(null);
  }));
  stage.addEventListener("keydown", event => {
    const by = {ArrowUp: -1, ArrowDown: 1}[event.key], signs = first(), at = signs.indexOf(document.activeElement);
    if (!by || at < 0) return;
    signs[(at + by + signs.length) % signs.length].focus();
    event.preventDefault();
  });
  function drawn() {
    const seen = new Set();
    all = [...stage.querySelectorAll("svg [data-part]")].map(part => signOf(part, legend)).filter(sign => sign);
    for (const sign of all) {
      if (seen.has(sign.key)) continue;
      const {part} = sign;
      seen.add(sign.key);
      part.classList.add("mk-sign");
      part.setAttribute("tabindex", (focused ?? [...seen][0]) === sign.key ? 0 : -1);
      part.setAttribute("role", "img");
      part.setAttribute("aria-label", legend[sign.key]);
      if (sign.key === focused && document.activeElement === document.body) part.focus({preventScroll: true});
    }
    if (mouse) point();
    else if (here !== null && !seen.has(here)) show(null);
  }
  return {drawn};
}

// A partition's row in the picture chooses it.
function pointer(stage, ask) {
  stage.addEventListener("click", event => {
    const row = event.target.closest('[data-part="row"]');
    if (row) ask.now({do: "choose", tp: row.dataset.partition});
  });
}

// A picture may be shown twice (a new view of a cell's output); each tells whether it can be seen, how wide it is, and when
// it is gone. A notebook that is closed ends its connection to the kernel before its views: they hear of it in time.
// While one drags an edge the picture that is there is stretched; it is drawn for the new width when that rests.
// A projector's letters are a share of its height: drawn as for 1080 lines, a screen of 720 would show the head and no crown.
function watchSight(stage, model, session, rests) {
  const view = Math.random().toString(36).slice(2);
  let inSight = true, told = "", timer = 0;
  const lines = () => model.get("fixed").size === "projector" ? LINES / innerHeight : 1;
  const tell = () => {
    rests();
    const on = inSight && !document.hidden;
    const wide = stage.clientWidth && Math.round(Math.max(LEAST_WIDE, stage.clientWidth) * lines() / STEP) * STEP;
    const high = stage.closest(".mk-inside") ? stage.clientHeight : null;
    if (told === `${on} ${wide} ${high}` || on && !wide) return;
    told = `${on} ${wide} ${high}`;
    model.send({do: "visible", view, on, wide, high});
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(tell, RESTS); };
  const sight = new IntersectionObserver(entries => { inSight = entries.at(-1).isIntersecting; tell(); });
  const size = new ResizeObserver(() => told ? later() : tell());
  sight.observe(stage);
  size.observe(stage);
  document.addEventListener("visibilitychange", tell);
  addEventListener("resize", later);
  const leave = () => model.send({do: "visible", view, on: null});
  session?.disposed?.connect(leave);
  return () => {
    leave();
    session?.disposed?.disconnect(leave);
    clearTimeout(timer);
    sight.disconnect();
    size.disconnect();
    document.removeEventListener("visibilitychange", tell);
    removeEventListener("resize", later);
  };
}

// --- the file ------------------------------------------------------------------------------------------------------

// What is saved in place of a view is its last picture, and a mark by which a page that is loaded while the kernel still lives
// finds the place again. A file with a widget in it would say "model not found" to everybody else.

const LAST = "The last picture of this run. Run the cell again for a live one.";  // as in front.py
const LEGIBLE = 9 / 14, LARGE = 16 / 14;  // pixels for a unit of the picture, at least and at most; as in element.py
const WIDGET = "application/vnd.jupyter.widget-view+json", MARK = "minikafka_view", CONTROLS = "minikafka_panel";

function still(output, id, text) {
  const label = new DOMParser().parseFromString(text, "image/svg+xml").documentElement.getAttribute("aria-label") ?? "";
  const code = btoa(Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join(""));
  const wide = Number(/viewBox="0 0 ([0-9.]+) /.exec(text)?.[1] ?? 0);
  const [least, most] = [LEGIBLE, LARGE].map(pixels => Math.round(wide * pixels));
  const image = make("img", {width: "100%", style: `min-width: ${least}px; max-width: ${most}px`, alt: label,
                             src: `data:image/svg+xml;base64,${code}`});
  const html = make("div", {style: "overflow-x: auto"}, image).outerHTML + make("small", {}, LAST).outerHTML;
  return {...output, data: {"text/html": html, "text/plain": label}, metadata: {...output.metadata, [MARK]: id}};
}

// What the notebook says of itself when it is saved. Returns the views whose pictures it puts in, by their id.
function keepPictures(notebook) {
  const views = new Map(), toJSON = notebook.toJSON.bind(notebook);
  notebook.toJSON = () => {
    const whole = toJSON();
    for (const {outputs} of whole.cells) outputs?.forEach((output, place) => {
      const id = output.data?.[WIDGET]?.model_id;
      if (views.has(id)) outputs[place] = still(output, id, views.get(id).get("svg"));
      else if (output.metadata?.[CONTROLS]) {
        const {[WIDGET]: _, ...data} = output.data;
        outputs[place] = {...output, data};
      }
    });
    return whole;
  };
  return views;
}

function replace(notebook, wanted, made) {
  for (const {outputs} of notebook.cells) {
    for (let place = 0; place < (outputs?.length ?? 0); place += 1) {
      const output = outputs.get(place).toJSON();
      if (wanted(output)) outputs.set(place, made(output));
    }
  }
}

function initialize({model}) {
  const notebook = model.widget_manager?.context?.model;  // JupyterLab's and Notebook's; elsewhere only a stopped view is kept
  if (!notebook?.cells) return;
  const id = model.get("fixed").id;
  (notebook[MARK] ??= keepPictures(notebook)).set(id, model);
  // where the file had a picture of this view, which lives: the view again
  const view = {version_major: 2, version_minor: 0, model_id: id};
  replace(notebook, output => output.metadata?.[MARK] === id, output => ({...output, data: {...output.data, [WIDGET]: view}}));
  replace(notebook, output => output.metadata?.[CONTROLS] && !output.data[WIDGET],
          output => ({...output, data: {...output.data, [WIDGET]: {...view, model_id: output.metadata[CONTROLS]}}}));
  // and when it ends: a picture. The kernel cannot put it there, it knows the places of the page before only
  model.on("destroy", () => replace(notebook, output => output.data?.[WIDGET]?.model_id === id,
                                    output => still(output, id, model.get("svg"))));
}

// --- what the view is ----------------------------------------------------------------------------------------------

const LOST = ["restarting", "autorestarting", "dead", "terminating"];  // states of a kernel that has forgotten its widgets
const ENGINES = {minikafka: "live cluster", sim: "simulated cluster", apache: "Apache Kafka"};

const sessionOf = model => model.widget_manager?.context?.sessionContext;  // JupyterLab's and Notebook's
const pathOf = model => model.widget_manager?.context?.path ?? "notebook";

// Calls `lost` when the kernel that the view belongs to has ended.
function watchKernel(model, lost) {
  const session = sessionOf(model);
  const status = (_, state) => { if (LOST.includes(state)) lost(); };
  const fresh = (_, change) => { if (change?.oldValue) lost(); };
  session?.statusChanged?.connect(status);
  session?.kernelChanged?.connect(fresh);
  return () => {
    session?.statusChanged?.disconnect(status);
    session?.kernelChanged?.disconnect(fresh);
  };
}

function statusLine(model, fixed, place) {
  const what = make("span", {class: "mk-what"}), said = make("span", {class: "mk-said", role: "status", "aria-live": "polite"});
  const fold = button("Fold", "fold the picture to a strip", () => place().fold(), {class: "mk-fold"});
  const here = button("Into its cell", "put the picture into its cell", () => place().choose(false), {class: "mk-home"});
  const there = button("Beside the text", "put the picture beside the text", () => place().choose(true), {class: "mk-there"});
  const file = pathOf(model).split("/").at(-1).replace(/\.ipynb$/, "");
  const node = make("div", {class: "mk-status"}, what, said, fold, here, there);
  function update(state, gone) {
    const kind = ENGINES[fixed.engine] ?? "recorded run";
    what.textContent = gone ? "The kernel has ended: this is its last picture. Run the cell again." :
      fixed.engine && !state.open ? `${kind}, closed: look back` : kind;
    what.title = `${file} ${what.textContent}`.trim();
    what.classList.toggle("mk-gone", gone);
  }
  function moved(beside) {
    fold.hidden = here.hidden = !beside;
    there.hidden = beside || !fixed.beside || !place()?.possible();
  }
  function say(line) {
    said.textContent = said.title = line.text ?? "";
    said.dataset.level = line.level ?? "";
    what.hidden = Boolean(line.text) && !what.classList.contains("mk-gone");
  }
  return {node, update, moved, say};
}

function render({model, el}) {
  const fixed = model.get("fixed");
  let gone = false, shownMode = null, place = null;
  // where the kernel is in the page, it takes the messages of widgets only between two cells
  const channel = fixed.channel ? new BroadcastChannel(fixed.id) : null;
  const tell = message => {
    if (!gone) channel ? channel.postMessage(JSON.stringify(message)) : model.send(message);
  };
  const ask = asking({send: tell});
  const order = (name, args) => tell({do: "order", name, args});
  const bar = fixed.controls && fixed.engine ? controlBar(fixed, order) : null;
  const stage = make("div", {class: "mk-stage"});
  const slider = timeSlider(stage, ask), time = timeBar(fixed, ask), status = statusLine(model, fixed, () => place);
  stage.append(slider.node);
  const signs = legendOf(stage, fixed.legend);
  // the buttons stand above: what they break, the crown and the sentence, is at the top of the picture and seen with them
  const top = make("div", {class: "mk-top"}, ...(bar ? [bar.node] : []), status.node);
  const root = make("div", {class: "mk-view", "data-size": fixed.size, "data-theme": fixed.theme,
                            "data-lm-suppress-shortcuts": "true"}, top, stage, time.node);
  el.append(root);
  keyboard(root, time, ask);
  pointer(stage, ask);
  let answered = 0;
  const ack = () => {
    if (performance.now() - answered < ACK_EVERY) return;
    answered = performance.now();
    tell({do: "ack"});
  };
  const showPicture = () => {
    const state = model.get("state");
    swap(stage, model.get("svg"), pace(state, shownMode));
    signs.drawn();
    shownMode = state.mode;
    slider.place();
    ack();
  };
  const showState = () => {
    const state = gone ? {...model.get("state"), open: false} : model.get("state");
    bar?.update(state);
    slider.update(state, model.get("marks"));
    time.update(state);
    status.update(state, gone);
    ask.granted(state.granted ?? 0);
    ack();
  };
  const showSaid = () => status.say(model.get("said"));
  const handlers = {"change:svg": showPicture, "change:state": showState, "change:marks": showState, "change:said": showSaid};
  for (const [name, handler] of Object.entries(handlers)) model.on(name, handler);
  place = placeView(root, el, fixed.id, pathOf(model), beside => {
    root.classList.toggle("mk-there", beside);
    status.moved(beside);
  });
  status.moved(false);
  showPicture();
  showState();
  showSaid();
  tell({do: "hello"});
  const unwatch = watchSight(stage, {get: name => model.get(name), send: tell}, sessionOf(model), slider.place);
  const unheard = watchKernel(model, () => {
    gone = true;
    root.classList.add("mk-lost");
    status.say({});
    showState();
  });
  whenInPage(el, () => {
    status.moved(false);
    if (fixed.beside && place.wanted()) place.beside();
  });
  return () => {
    unwatch();
    unheard();
    channel?.close();
    place.leave();
    for (const [name, handler] of Object.entries(handlers)) model.off(name, handler);
  };
}

export default {initialize, render};
