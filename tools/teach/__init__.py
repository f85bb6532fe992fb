"""The teacher's pack: what `tools/teaching.py` makes.

    exam.py    an exam from a seed: questions and their key
    kinds.py   the kinds of questions: how a state is drawn, and which code says what is right
"""
