"""JupyterHub for a class: one installation that all share, a server for each student (minikafka/lab/hub.py).

As root, on the machine of the class (Debian, Ubuntu), in a folder that all can read, such as /srv/minikafka:

    apt install python3-venv npm && npm install -g configurable-http-proxy
    MINIKAFKA_CACHE=$PWD/.cache/minikafka make setup apache && .venv/bin/pip install jupyterhub
    .venv/bin/jupyterhub -f docker/jupyterhub_config.py

Students log in with their accounts on that machine; each begins with lab 0. `make student-copy` makes an installation without the
solutions. The hub listens on http://127.0.0.1:8000: what stands before it (TLS, a name) and how students log in are JupyterHub's
own settings, for which its documentation has many answers.
"""
from pathlib import Path

c = get_config()  # noqa: F821  (JupyterHub gives it to this file)
PROJECT = Path(__file__).resolve().parent.parent
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.Spawner.cmd = [str(PROJECT / ".venv" / "bin" / "python"), "-m", "minikafka.lab.hub"]
c.Spawner.http_timeout = c.Spawner.start_timeout = 120  # seconds; thirty students start at once
c.Authenticator.allow_all = True  # who has an account on this machine
