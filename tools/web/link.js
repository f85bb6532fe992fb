// Shows the notebook that a link names (?path=) when the tabs of the last visit are back: JupyterLab's own opening may be lost among them.
(() => {
  const paths = new URLSearchParams(location.search).getAll("path");
  const look = async () => {
    const app = window.jupyterapp;
    if (!app) {
      setTimeout(look, 200);
      return;
    }
    await app.restored;
    for (const path of paths)
      await app.commands.execute("docmanager:open", { path });
  };
  if (paths.length) look();
})();
