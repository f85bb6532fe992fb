// The slider of a line (player.py): the cursor, the veil over what is still to come, the words of the moment, the findings.
(() => {
  const root = [...document.querySelectorAll("[data-line]:not([data-ready])")].at(-1);
  if (!root) return;
  root.dataset.ready = "";
  const known = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const find = name => root.querySelector(`[data-${name}]`);
  const slider = root.querySelector("input"), play = find("play"), choose = find("choose"), says = find("says");
  const texts = known.names.map(name => root.querySelector(`[data-value="${name}"]`));
  const RATE = 4;  // seconds of the run in a second
  let timer = 0;

  function show(number, told) {
    const [t, sentence, ...values] = known.frames[number];
    const x = known.left + (known.right - known.left) * t / known.end;
    find("cursor").setAttribute("transform", `translate(${x} 0)`);
    find("veil").setAttribute("x", x);
    find("veil").setAttribute("width", Math.max(0, known.right - x));
    values.forEach((value, place) => { texts[place].textContent = value; });
    says.textContent = told ?? `second ${t.toFixed(1)}: ${sentence}`;
    slider.value = number;
  }
  const nearest = t => known.frames.findLastIndex(frame => frame[0] <= t + 1e-6);
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ play";
  }
  function tell(number) {
    stop();
    show(nearest(known.found[number][0]), `second ${known.found[number][0].toFixed(1)}, ${known.found[number][1]}: ${known.found[number][2]}`);
    if (choose) choose.value = number;
  }
  slider.addEventListener("input", () => { stop(); show(+slider.value); });
  play.addEventListener("click", () => {
    if (timer) return stop();
    let t = +slider.value >= known.frames.length - 1 ? 0 : known.frames[+slider.value][0];
    play.textContent = "❚❚ stop";
    timer = setInterval(() => {
      t += RATE / 20;
      show(Math.max(0, nearest(t)));
      if (t >= known.end) stop();
    }, 50);
  });
  addEventListener("beforeprint", () => { stop(); show(known.frames.length - 1); });
  if (document.body.hasAttribute("data-plays")) play.click();
  choose?.addEventListener("change", () => choose.value !== "" && tell(+choose.value));
  for (const mark of root.querySelectorAll("[data-found]")) mark.addEventListener("click", () => tell(+mark.dataset.found));
})();
