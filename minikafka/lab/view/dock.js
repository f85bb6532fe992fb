// The place beside the text: in JupyterLab (and Notebook 7) a view stands at the right of its notebook, as high as that,
// and stays there while the text is scrolled. It belongs to the notebook's panel: another notebook has its own, and with the
// notebook it goes. Elsewhere (VS Code, nbclassic, a new view of an output), and where there is no room, a view stays in
// its cell. No extension and no call of JupyterLab's own: the elements of the panel and of the page are all that is used.

const PANEL = ".jp-NotebookPanel", TEXT = ":scope > .jp-Notebook";
const ROOM = 760, LEAST_PICTURE = 380, LEAST_TEXT = 300, STRIP = 30;  // pixels
const KEPT = "minikafka-view-beside";  // where the page keeps the share that the viewer chose, and for each lab the place
const GRACE = 400;  // milliseconds that an empty place stays: a cell that runs again makes its view anew
const STEADY = 200;  // milliseconds without a change of widths before figures are fitted
// JupyterLab gives its widgets (a figure is one) a new width only when the page has another width. So the page is one pixel
// narrower after the first change of the place, as wide as before after the second, and so on.
let due = 0;
function layOutPage() {
  clearTimeout(due);
  due = setTimeout(() => {
    const page = document.getElementById("main");
    page.style.right = page.style.right ? "" : "1px";
    dispatchEvent(new Event("resize"));
  }, STEADY);
}

// `of`: the notebook's path, "" for what is kept of all.
function kept(of, changes = {}) {
  const key = of ? `${KEPT}:${of}` : KEPT;
  let choice = of ? {folded: false, beside: true, shown: ""} : {share: 0.5};
  try {
    choice = {...choice, ...JSON.parse(localStorage.getItem(key) ?? "{}"), ...changes};
    if (Object.keys(changes).length) localStorage.setItem(key, JSON.stringify(choice));
  } catch { /* a page without storage forgets */ }
  return {...choice, ...changes};
}

// One place in the panel of the notebook `of`; `holder` is the view in it.
function makeDock(panel, of) {
  const edge = make("div", {class: "mk-edge", role: "separator", tabindex: 0, "aria-orientation": "vertical",
                            "aria-label": "width of the picture (left and right arrow)", title: "drag: wider or narrower"});
  const unfold = button("Picture", "show the picture again", () => fold(false), {class: "mk-unfold"});
  const inside = make("div", {class: "mk-inside"});
  const node = make("div", {class: "mk-dock", "data-lm-suppress-shortcuts": "true", role: "complementary",
                            "aria-label": "the picture of the cluster"}, edge, unfold, inside);
  const text = panel.querySelector(TEXT);
  let {share} = kept(""), {folded} = kept(of);
  const dock = {node, inside, holder: null, fold, remove, leaving: 0};

  function lay() {
    if (!panel.clientWidth) return;  // a notebook in a hidden tab
    if (panel.clientWidth < ROOM && dock.holder) return dock.holder.retreat();
    const wide = folded ? `${STRIP}px` : `max(${LEAST_PICTURE}px, min(${100 * share}%, 100% - ${LEAST_TEXT}px))`;
    const changed = panel.style.getPropertyValue("--mk-wide") !== wide;
    panel.style.setProperty("--mk-wide", wide);
    panel.style.setProperty("--mk-top", `${text.offsetTop}px`);
    node.classList.toggle("mk-folded", folded);
    if (changed) layOutPage();
  }
  function fold(on, focus = true) {
    folded = on;
    kept(of, {folded});
    lay();
    if (focus) (on ? unfold : inside.querySelector("button"))?.focus();
  }
  function widen(pixels) {
    share = Math.min(0.85, Math.max(0.2, pixels / panel.clientWidth));
    kept("", {share});
    lay();
  }
  edge.addEventListener("pointerdown", event => {
    edge.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  edge.addEventListener("pointermove", event => {
    if (edge.hasPointerCapture(event.pointerId)) widen(panel.getBoundingClientRect().right - event.clientX);
  });
  edge.addEventListener("keydown", event => {
    const by = {ArrowLeft: 40, ArrowRight: -40}[event.key];
    if (by) widen(node.offsetWidth + by);
    event.stopPropagation();
  });
  const size = new ResizeObserver(lay);
  size.observe(panel);
  function remove() {
    size.disconnect();
    panel.classList.remove("mk-beside");
    panel.style.removeProperty("--mk-wide");
    layOutPage();
    node.remove();
    delete panel.mkDock;
  }
  panel.append(node);
  panel.classList.add("mk-beside");
  panel.mkDock = dock;
  lay();
  return dock;
}

// Gives the view `root` of the cell's output `el` its place; `id` is the view's, `of` the notebook's path. `moved(beside)` is told
// of every move. A view that a cell has just made unfolds the place; one that a page shows again leaves it as it is.
function placeView(root, el, id, of, moved) {
  const note = make("div", {class: "mk-note", hidden: ""},
    "The picture stands beside the text. ", button("Put it here", "put the picture into its cell", () => choose(false)));
  const view = {home, retreat};
  let dock = null, waiting = null;
  el.append(note);

  function panel() {
    const found = el.closest(PANEL);
    return found?.querySelector(TEXT) && found.clientWidth >= ROOM ? found : null;
  }
  function home() {  // into the cell
    const empty = dock;
    dock = null;
    if (empty?.holder === view) {
      empty.holder = null;
      empty.leaving = setTimeout(() => empty.holder === null && empty.remove(), GRACE);
    }
    el.append(root);
    note.hidden = true;
    moved(false);
  }
  function beside() {
    const place = panel();
    if (!place || dock) return;
    dock = place.mkDock ?? makeDock(place, of);
    waiting?.disconnect();
    clearTimeout(dock.leaving);
    const former = dock.holder;
    dock.holder = view;
    former?.home();  // the newest view has the place
    dock.inside.replaceChildren(root);
    if (kept(of).shown !== id) {
      kept(of, {shown: id});
      dock.fold(false, false);
    }
    note.hidden = false;
    moved(true);
  }
  function retreat() {  // into the cell, until there is room again
    home();
    waiting ??= new ResizeObserver(() => { if (panel()) beside(); });
    waiting.observe(el.closest(PANEL));
  }
  function choose(on) {
    waiting?.disconnect();

    kept(of, {beside: on});
    on ? beside() : home();
  }
  return {
    beside, choose, wanted: () => kept(of).beside, fold: () => dock?.fold(true), possible: () => Boolean(panel()),
    leave() {
      waiting?.disconnect();
      if (dock) home();
    },
  };
}

// Calls `then` as soon as the element is in the page (a view is rendered before that). No observer tells of a cell that is
// out of sight: the page does not lay it out.
function whenInPage(el, then, tries = 1200) {
  if (el.isConnected) then();
  else if (tries) setTimeout(() => whenInPage(el, then, tries - 1), 50);
}
