"""From a frame to SVG or text; nothing here reads the trace, except charts.py.

    svg.py         the whole picture, top to bottom: head.py (the sentence, the brokers), strip.py (a tile for each partition),
                   lanes.py (the chosen partition), cards.py (clients, controllers, ledger), timeline.py;
                   members.py (the members of a group as chips, with their lag), voters.py (the controllers as chips)
    dock.py        the same beside a text: what fits into the place
    lanes.py       a lane for each replica: axis.py (where an offset stands), cells.py (records), bracket.py (the ISR), lines.py
                   (high watermark and others), footing.py (ruler, epochs, positions of consumers),
                   transactions.py (brackets and markers)
    the means      paper.py (SVG elements and labels), element.py (the root of a picture), packing.py (labels that do not
                   touch), shapes.py, theme.py (colours, sizes)
    text.py        the same frame in words
    topic.py       a whole topic at once, its records marked by their keys, on a sheet.py: a drawing that is right in any program
    group.py       a consumer group at one glance: partitions down, members across, how far each is
    sequence.py    a client and its brokers: an arrow for each request and answer
    tasks.py       a Spark query: partitions down, micro-batches across, what each task reads
    metadata.py    the metadata log as a lane
    stream.py      a stream in event time and in the order of arrival, with its watermark
    flipbook.py    such drawings with a slider, in one piece of HTML
    chart.py       a chart, described once: plotly's figure, and the same figure as SVG; charts.py draws a whole run
"""
