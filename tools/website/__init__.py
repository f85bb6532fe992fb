"""How the course becomes a folder of static pages; the command is tools/site.py.

    runs.py      the solved notebooks, run once so that their pictures carry the runs they show
    films.py     a recorded run as frames of SVG in one small file, for the slider in a page
    frame.py     what stands around the words of a page
    cells.py     a notebook's cells as HTML
    pages.py     the pages: index, labs, demos, words
    index.md     the words of the first page
    style.css, player.js    what every page shares; the player needs no server and asks nobody for anything
"""
