"""The whole line of a run on one clock: producer, partitions, Spark's batches, sink, faults, the notary's findings.

    tracks.py     a value that changes in time
    facts.py      the events of a run as such values: who leads, what the log has, which batch is under way, how long a trip waits
    findings.py   what the notary and a night have found, each with its moment and what happened there
    rings.py      which alarms of a student ring, second by second
    frames.py     what the picture says at a moment
    draw.py       the drawing of a whole run; player.py the slider under it, as HTML that needs no kernel
    grow.py       the same drawing while a run goes on
    page.py       one page about a pipeline and its night, as a film and on paper
    show.py       a night as a picture, for a cell
"""
