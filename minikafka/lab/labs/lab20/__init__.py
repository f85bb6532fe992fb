"""Elective 20, build a broker: checks.py (the stages' exercises and hints); stages.py (what each stage is asked); clients.py
(unmodified clients); layouts.py (what stands in requests and answers); side_by_side.py (two answers, field by field); parts.py
(the student's files, joined and run); replicas.py (three brokers and a night); elected.py (the student's
controller, and another night); experiment.py (what cells call).
"""
