"""The picture in a notebook: live, with a control bar and the whole run to go back to.

    view = cluster.view()        # or show(RecordedRun.open("run.mk"))

    view.py        a view, and what each part of it does to the others
    film.py        the run and how it is drawn: the one door to lab/picture
    cursor.py      where the viewer stands in time
    painter.py     the job that draws, at most ten frames a second
    orders.py      what the control bar does to the cluster
    front.py       where a view is shown: a page with widgets, still pictures, or nowhere
    widget.py      what travels between kernel and page; the page is view.js (controls), dock.js (the place beside the
                   text), motion.js (what changes moves there) and view.css
    registry.py    the views that live, so that a cell that runs twice leaves one
"""
from minikafka.lab.view.registry import living
from minikafka.lab.view.view import View, show, view_of

__all__ = ["View", "living", "show", "view_of"]
