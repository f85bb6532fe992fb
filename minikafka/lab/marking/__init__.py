"""Marks for what a class handed in: each answer is judged again, by the check that judged it in the notebook.

    python -m minikafka class FOLDER --mark                      one point for each exercise
    python -m minikafka class FOLDER --mark --rubric FILE        the points of a file (rubric.py)

    command.py   the command, and the page over a class
    files.py     what is in the folder: hand-ins, records, notebooks, and whose each is
    cell.py      the cell of an exercise, run alone: what it gives to `check`
    apart.py     the answers of one student, in processes of their own, with limits: the code is a stranger's
    bench.py     the process of the checks; hand.py the one of the code; plain.py what goes between them: data
    together.tsv the exercises whose check has to run beside the code
    remarks.py   what a teacher should look at: passes that are none, code that two students share, too few minutes
    rubric.py    the points of each exercise
    marks.py     the table, and the same as a file (CSV)
    grades.py    the points in the file that a learning system exported: Moodle, Canvas, nbgrader

Invariants
  no mark is taken from a file: an exercise has its points only if its code passes here
  whatever the code of one student does, the marks of the others are the same
"""
