// What changed between two pictures moves to its new place: a record slides in, the crown travels, the watermark moves on.
// Every picture is complete without it. A picture that comes while the last one still moves goes on from what is seen.

const MOVING = {crown: 700, lane: 500, hw: 300, lso: 300, cell: 300, row: 0};  // milliseconds
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

function places(svg) {
  const all = movers(svg);
  if (all.size > TOO_MANY) return new Map();
  return new Map([...all].map(([name, node]) => [name, node.getBoundingClientRect()]));
}

// `before`: the places of the former picture, measured just before it was replaced. `speed`: of the run, as it is shown.
function move(svg, before, speed) {
  if (!before.size || quiet.matches || document.hidden || !svg.animate) return;
  const scale = svg.clientWidth / svg.viewBox.baseVal.width || 1;
  const all = [...movers(svg)].map(([name, node]) => [name, node, node.getBoundingClientRect()]);
  const lanes = new Map();  // how far each lane has to go, which what is in it goes with it
  for (const [name, node, now] of all) {
    const was = before.get(name), part = node.dataset.part;
    if (part === "lane" && was) lanes.set(node, was.top - now.top);
  }
  for (const [name, node, now] of all) {
    const was = before.get(name), part = node.dataset.part, lane = node.closest('[data-part="lane"]');
    const carried = part === "lane" ? 0 : lanes.get(lane) ?? 0;
    const duration = MOVING[part] / Math.max(1, speed);
    const timing = {duration, easing: "cubic-bezier(0.2, 0.7, 0.3, 1)"};
    if (!was) {
      if (part !== "cell" || !before.has(laneOf(name))) continue;
      const number = node.nextElementSibling?.tagName === "text" ? [node.nextElementSibling] : [];
      for (const each of [node, ...number]) {
        each.animate([{translate: `${COMES_FROM}px 0px`, opacity: 0}, {translate: "0px 0px", opacity: 1}], timing);
      }
      continue;
    }
    const x = part === "lane" ? 0 : was.left - now.left, y = part === "hw" || part === "lso" ? 0 : was.top - now.top - carried;
    if (Math.abs(x) < SAME && Math.abs(y) < SAME) continue;
    const number = part === "cell" && node.nextElementSibling?.tagName === "text" ? [node.nextElementSibling] : [];
    for (const each of [node, ...number]) {
      each.animate([{translate: `${x / scale}px ${y / scale}px`}, {translate: "0px 0px"}], timing);
    }
  }
}

const laneOf = name => name.replace(/ cell (\d+) \d+$/, " lane $1");
