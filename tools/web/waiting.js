// A line at the foot of a notebook: what one waits for until Python has started, what this browser or this host lacks, and that a
// notebook could not be kept.
(() => {
  const line = document.createElement("div");
  line.setAttribute("role", "status");
  line.id = "mk-waiting";
  line.style.cssText = "position:fixed;left:0;right:0;bottom:0;z-index:2000;padding:.5rem 1rem;background:#0062a0;color:#fff;"
    + "font:16px/1.4 system-ui,sans-serif";
  const began = Date.now();
  let started = false, watched = false;
  const look = () => {
    const contents = window.jupyterapp?.serviceManager?.contents;
    if (contents && !watched) {
      watched = true;
      watchSaves(contents);
    }
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    const status = session?.session?.kernel?.status;
    if (!session) {
      line.remove();
    } else if (status === "idle" || status === "busy") {
      started = true;
      line.remove();
    } else if (!started) {
      const seconds = Math.round((Date.now() - began) / 1000);
      line.textContent = `Python starts in this page, for about 15 seconds (${seconds} s so far). You may run cells already: they wait for it.`;
      document.body.append(line);
    }
    setTimeout(look, started ? 2000 : 500);
  };
  const say = text => {
    const said = document.createElement("div");
    said.setAttribute("role", "alert");
    said.style.cssText = line.style.cssText;
    said.style.background = "#8a3d00";
    said.textContent = `${text} `;
    const close = document.createElement("button");
    close.textContent = "I know";
    close.onclick = () => said.remove();
    said.append(close);
    document.body.append(said);
    return said;
  };
  const watchSaves = contents => {  // JupyterLab shows the browser's own words, such as "Failed to write blobs (IOError)"
    const save = contents.save.bind(contents);
    let said = null;
    contents.save = (...asked) => save(...asked).then(saved => {
      said?.remove();
      return saved;
    }, error => {
      if (!said?.isConnected)
        said = say("This browser could not keep your work: the disk, or the room that it gives this page, is full. "
          + "Leave this tab open, make room on the disk, then save again (Ctrl+S).");
      throw error;
    });
  };
  const keeps = () => {
    try {
      return Boolean(window.localStorage);
    } catch {  // a SecurityError
      return false;
    }
  };
  addEventListener("load", async () => {
    if (location.protocol === "file:") {
      say("Labs cannot start from a file. Open a terminal in the folder of this page, run: python3 -m http.server, "
        + "then open http://127.0.0.1:8000/ in this browser.");
      return;
    }
    look();
    if (!keeps())
      say("This browser lets this page keep nothing, so no lab opens. Allow cookies and site data for this address in the browser's "
        + "settings, then load this page again.");
    if (!("Suspending" in WebAssembly))
      say("This browser cannot put a call aside (JSPI). Cells that use kafka-python or wait for a program need "
        + "a Chrome, Edge or Firefox of 2026; simulated clusters and all checks of plain functions run here.");
    const module = await fetch("../static/pyodide/pyodide.mjs", { method: "HEAD" }).catch(() => null);
    const type = module?.headers.get("Content-Type") ?? "no type";
    if (module?.ok && !type.includes("javascript"))
      say(`Python does not start: this host sends .mjs files as ${type}. Its administrator has to give them the type text/javascript.`);
  });
})();
