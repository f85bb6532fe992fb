"""The picture in a notebook: live, with a control bar and the whole run to go back to.

    view = cluster.view()        # or show(Run.open("run.mk"))

`view.py` is the view; `painter.py` its thread, `cursor.py` where it stands in time, `orders.py` what the control bar does,
`film.py` the run and its pictures, `front.py` the notebook, `registry.py` who lives, `widget.py`, `view.js` and `view.css` the
page.
"""
from minikafka.lab.view.registry import living
from minikafka.lab.view.view import View, show, view_of

__all__ = ["View", "living", "show", "view_of"]
