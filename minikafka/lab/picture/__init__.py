"""The picture of a cluster: a pure function from its trace at a moment to a frame, and from a frame to SVG or text.

    run = Run.of(cluster)            # or Run.open("run.mk"): the same events, live, simulated or from a file
    frame = run.at(31.4, "flights-2")
    svg, text = to_svg(frame), to_text(frame)

Invariants: I-PICTURE-1 no broker is ever asked, so a dead one cannot blank the picture.
            I-PICTURE-2 what the trace does not tell is drawn as unknown, never as 0.

From events to a frame: `run.py` (moments, checkpoints) folds events into `state.py` (fold_cluster, fold_replicas,
fold_clients; the facts in partitions, logs, quorum, clients, conditions, ledger), `scene.py` is a moment of it, `sentence.py`
(say_cluster, say_replicas) says what holds things up, `marks.py` finds the moments worth a jump, `compose.py` makes the frame
(`frame.py`), `recording.py` keeps a run in a file. From a frame to a picture: `svg.py`, `text.py` and what they draw with.
"""
