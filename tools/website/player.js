// The pictures of a page, played: each <figure data-film="NAME"> shows one frame of films/NAME-wide.js (or -slim.js on a phone).
// A film is a file of its own because a page that was opened from a disk may load scripts and nothing else.

const SPEEDS = [0.5, 1, 2, 5, 10, 20, 60];
const LONG = 40;        // seconds that a film may take at its first speed
const NEAR = 3;         // frames that count as a move; what is further is a cut
const MARK = 1, STOP = 2;
const slim = matchMedia("(max-width: 700px)");
const found = new Map();   // name of a file -> promise of its film
const arrivals = new Map();

// Called by the file of a film.
async function film(name, packed) {
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  arrivals.get(name)(JSON.parse(await new Response(stream).text()));
}

function load(name) {
  if (!found.has(name)) {
    found.set(name, new Promise((arrived, failed) => {
      arrivals.set(name, arrived);
      const script = document.createElement("script");
      script.onerror = () => failed(new Error(`films/${name}.js is not there`));
      script.src = `films/${name}.js`;
      document.head.append(script);
    }));
  }
  return found.get(name);
}

function player(figure) {
  const part = name => figure.querySelector(`[data-part="${name}"]`);
  const screen = part("screen"), slider = part("slider"), play = part("play"), speedButton = part("speed");
  let data = null, at = Number(figure.dataset.shows), t = 0, speed = 1, running = false, before = 0, shown = -1;

  const time = number => data.frames[number][0];
  const number = seconds => Math.max(0, data.frames.findLastIndex(frame => frame[0] <= seconds + 1e-6));

  // Wide to high, of the highest frame: what stands below the picture must not jump.
  function shape() {
    const sizes = data.frames.map(frame => data.pieces[frame[3]].match(/viewBox="0 0 ([\d.]+) ([\d.]+)"/).slice(1).map(Number));
    return `${sizes[0][0]} / ${Math.max(...sizes.map(([, high]) => high))}`;
  }
  function draw() {
    if (at === shown) return;
    const [seconds, says, , ...pieces] = data.frames[at];
    const old = screen.firstElementChild, was = running && Math.abs(at - shown) <= NEAR ? places(old) : new Map();
    screen.innerHTML = pieces.map(each => data.pieces[each]).join("");
    move(screen.firstElementChild, was, speed);
    shown = at;
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${seconds.toFixed(1)} seconds: ${says}`);
    part("clock").textContent = `${seconds.toFixed(1)} s`;
    part("says").textContent = says;
  }
  function go(to) {
    at = Math.min(Math.max(to, 0), data.frames.length - 1);
    t = time(at);
    draw();
  }
  function run(on) {
    if (on && at === data.frames.length - 1) go(0);
    running = on;
    play.textContent = on ? "❚❚ Stop" : "▶ Play";
    if (on) {
      before = performance.now();
      requestAnimationFrame(tick);
    }
  }
  function tick(now) {
    if (!running) return;
    const to = t + Math.min(Math.max(now - before, 0), 250) / 1000 * speed;
    const stop = data.frames.findIndex(frame => frame[2] === STOP && frame[0] > t + 1e-6 && frame[0] <= to);
    before = now;
    at = stop < 0 ? number(to) : stop;
    t = stop < 0 ? to : time(stop);
    draw();
    if (stop >= 0 || at === data.frames.length - 1) run(false);
    else requestAnimationFrame(tick);
  }
  function jump(by) {
    const marks = data.frames.map((frame, place) => (frame[2] ? place : -1)).filter(place => place >= 0);
    run(false);
    go(by > 0 ? marks.find(place => place > at) ?? data.frames.length - 1 : marks.findLast(place => place < at) ?? 0);
  }
  function faster() {
    speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    speedButton.textContent = `×${speed}`;
  }

  async function open() {
    data = await load(`${figure.dataset.film}-${slim.matches ? "slim" : "wide"}`);
    slider.max = data.frames.length - 1;
    const length = time(data.frames.length - 1);
    speed = SPEEDS.find(each => each >= 1 && length / each <= LONG) ?? SPEEDS.at(-1);
    speedButton.textContent = `×${speed}`;
    shown = -1;
    screen.style.aspectRatio = shape();
    go(at);
    part("bar").hidden = false;
    figure.dataset.ready = slim.matches ? "slim" : "wide";
  }
  slider.addEventListener("input", () => {
    run(false);
    go(Number(slider.value));
  });
  play.addEventListener("click", () => run(!running));
  speedButton.addEventListener("click", faster);
  part("back").addEventListener("click", () => jump(-1));
  part("on").addEventListener("click", () => jump(1));
  slim.addEventListener("change", () => data && open());  // a phone that is turned
  new IntersectionObserver((seen, observer) => {
    if (seen.some(each => each.isIntersecting)) {
      observer.disconnect();
      open().catch(error => { part("says").textContent = error.message; });
    }
  }, {rootMargin: "600px"}).observe(figure);
}

// --- light and dark ------------------------------------------------------------------------------------------------

const root = document.documentElement, THEMES = ["auto", "light", "dark"];

function theme(name) {
  root.dataset.theme = name;
  if (name === "auto") root.removeAttribute("data-jp-theme-light");  // the pictures know JupyterLab's word for it
  else root.setAttribute("data-jp-theme-light", String(name === "light"));
  for (const each of document.querySelectorAll("[data-part=theme]")) each.textContent = `◐ ${name}`;
}
function remembered(name) {
  try {
    if (name) localStorage.setItem("minikafka-theme", name);
    return localStorage.getItem("minikafka-theme") ?? "auto";
  } catch { /* a page without storage forgets */ }
  return name ?? "auto";
}

addEventListener("DOMContentLoaded", () => {
  theme(remembered());
  for (const each of document.querySelectorAll("[data-part=theme]")) {
    each.addEventListener("click", () => theme(remembered(THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % 3])));
  }
  if (!matchMedia("(min-width: 1240px)").matches) {  // above the text, the list of sections would push it out of sight
    for (const list of document.querySelectorAll(".side details")) list.open = false;
  }
  for (const figure of document.querySelectorAll("[data-film]")) player(figure);
});
