"""How the course becomes a page that runs by itself in a browser; the command is tools/browser.py.

    page.lock      what comes from the registries: wheels for Pyodide, and JupyterLite, by version and SHA-256
    parts.py       fetches them once, and trusts only what has the hash
    packages.py    Pyodide's folder: its core, the wheels, this project as a wheel, and a lock that names nothing else
    aside.py       mends how Pyodide puts a call aside: its frames are out of sight meanwhile
    lite.py        JupyterLite around it: the application, its extensions, the labs as contents, the settings
    first.py       the first page (first.html), and the line while Python starts (waiting.js)
    fallbacks.py   runs in the page: what has no wheel for Pyodide, in plain Python
    table.py       runs in the page: what the labs use of pandas
    start.py       runs in the page before a notebook's first cell
    run.py         a notebook, run in the page by a real Chromium: what each cell put out
"""
