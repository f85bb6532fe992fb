"""The teacher's pack: what `tools/teaching.py` makes.

    exam.py      an exam from a seed: questions and their key
    own.py       sheets with figures of each student's own
    kinds.py     all kinds of questions: how a state is drawn, and which code says what is right; they are in logs.py,
                 consumers.py, replicas.py, controllers.py, producers.py, streams.py; question.py is what they have in common
    before_after.py  a test of 25 misconceptions in two forms, from items.tsv
    plans.py     the plans of a term, a week, an afternoon, from plans.md
    slides.py    slides of a lab, from its questions, its demos and what was seen
    guesses.py   a question to guess, with what stands above it
    drawings.py  the state of a question as a drawing
    minutes.py   minutes of labs and demos
    paper.py     pages for paper
"""
