// What changed between two pictures moves to its new place: a record slides in, the crown travels, the watermark moves on.
// Every picture is complete without it. A picture that comes while the last one still moves goes on from what is seen.

const MOVING = {crown: 700, lane: 500, hw: 300, lso: 300, cell: 300};  // milliseconds
const SAME = 0.75;     // pixels that are no move
const TOO_MANY = 240;  // records: a long log is drawn anew
const COMES_FROM = 26; // units to the right, from where a new record slides in

const quiet = matchMedia("(prefers-reduced-motion: reduce)");

// What may move, by a name that it keeps from picture to picture.
function movers(svg) {
  const found = new Map(), partition = svg?.querySelector('[data-part="partition"]');
  if (!partition) return found;
  const of = partition.dataset.partition;
  for (const node of partition.querySelectorAll(':scope > [data-part="hw"], :scope > [data-part="lso"]')) {
    found.set(`${of} ${node.dataset.part}`, node);
  }
  for (const lane of partition.querySelectorAll('[data-part="lane"]')) {
    found.set(`${of} lane ${lane.dataset.broker}`, lane);
    for (const cell of lane.querySelectorAll('[data-part="cell"]')) {
      found.set(`${of} cell ${lane.dataset.broker} ${cell.dataset.offset}`, cell);
    }
  }
  const crown = partition.querySelector('[data-crown="worn"], [data-crown="dead"]');
  if (crown) found.set(`${of} crown`, crown);
  return found;
}

// Where it is seen. Of a lane its broker's ring counts: crowns, records and labels come and go.
const boxOf = node => (node.dataset.part === "lane" ? node.querySelector("circle") ?? node : node).getBoundingClientRect();

function places(svg) {
  const all = movers(svg);
  if (all.size > TOO_MANY) return new Map();
  return new Map([...all].map(([name, node]) => [name, boxOf(node)]));
}

// `before`: the places of the former picture, measured just before it was replaced. `speed`: of the run, as it is shown.
function move(svg, before, speed) {
  if (!before.size || quiet.matches || document.hidden || !svg.animate) return;
  const scale = svg.clientWidth / svg.viewBox.baseVal.width || 1;
  const all = [...movers(svg)].map(([name, node]) => [name, node, boxOf(node)]);
  const sunk = new Map(), slid = new Map();  // how far a lane moves with all that is in it; how far a stretch of records slides
  for (const [name, node, now] of all) {
    if (node.dataset.part === "lane" && before.has(name)) sunk.set(node, before.get(name).top - now.top);
  }
  const timing = part => ({duration: MOVING[part] / Math.max(1, speed), easing: "cubic-bezier(0.2, 0.7, 0.3, 1)"});
  for (const [name, node, now] of all) {
    const was = before.get(name), part = node.dataset.part, lane = node.closest('[data-part="lane"]');
    if (was) {
      const x = part === "lane" ? 0 : was.left - now.left;
      const y = part === "lane" ? sunk.get(node) : part === "crown" ? was.top - now.top - (sunk.get(lane) ?? 0) : 0;
      if (part === "cell" && !slid.has(node.parentNode)) slid.set(node.parentNode, x);
      if (Math.abs(x) >= SAME || Math.abs(y) >= SAME) slide(node, x / scale, y / scale, timing(part));
    } else if (part === "cell" && before.has(laneOf(name))) {
      slide(node, COMES_FROM, 0, timing(part), {opacity: 0});
    }
  }
  for (const [lane, y] of sunk) {  // what stands under its records would pass over the bands of the epochs: it is seen at its place
    if (Math.abs(y) < SAME) continue;
    for (const each of lane.querySelectorAll('[data-part="lane-hw"] text, [data-part="ghost"]')) {
      each.animate([{opacity: 0}, {opacity: 0}], timing("lane"));
    }
  }
  for (const [stretch, x] of slid) {  // the ticks of its records
    for (const each of stretch.querySelectorAll('[data-part="acked"]')) slide(each, x / scale, 0, timing("cell"));
  }
}

// How fast a picture moves; 0: not at all. Motion says that time passes: who looks back, or has just come from another moment,
// sees each picture at once, without lanes that pass over each other.
function pace({mode, speed}, formerMode) {
  if (mode === "still" || mode !== formerMode) return 0;
  return mode === "play" ? speed : 1;
}

// From so many units beside its place to its place; a record with its number.
function slide(node, x, y, timing, from = {}) {
  const next = node.nextElementSibling, number = node.dataset.part === "cell" && next?.tagName === "text" ? [next] : [];
  for (const each of [node, ...number]) {
    each.animate([{translate: `${x}px ${y}px`, ...from}, {translate: "0px 0px"}], timing);
  }
}

const laneOf = name => name.replace(/ cell (\d+) \d+$/, " lane $1");
