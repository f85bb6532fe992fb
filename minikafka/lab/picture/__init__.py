"""The picture of a cluster: a pure function from its trace at a moment to a frame, and from a frame to SVG or text.

    run = RecordedRun.of(cluster)    # or RecordedRun.open("run.mk"): the same events, live, simulated or from a file
    frame = run.at(31.4, "flights-2")
    svg, text = to_svg(frame), to_text(frame)

Invariants
  I-PICTURE-1  no broker is ever asked, so a dead one cannot blank the picture
  I-PICTURE-2  what the trace does not tell is drawn as unknown, never as 0

The way from a trace to a picture; what draws never looks at the trace:

    facts/       events of the trace -> the state of the cluster at a moment (state.py)
    scene.py     one moment to be looked at: the state, the clock, the chosen partition
    sentences/   that moment -> the sentence that says what the cluster waits for or lacks
    compose.py   that moment -> a frame; frame.py says what a frame holds, flows.py finds the traffic in it, focus.py says
                 which records have a box each and which are folded
    signs.py     a frame -> the same without the signs that later labs explain; a sentence for each sign
    draw/        a frame -> SVG (svg.py) or text (text.py)

facts/run.py goes this way up to the frame (`RecordedRun.at`); notebooks, the view and the demos start there.

command.py is `python -m minikafka picture`; showcase.py records the run that the README's picture shows.
"""
