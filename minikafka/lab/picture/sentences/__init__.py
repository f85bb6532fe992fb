"""From facts to words: the one sentence over the picture that says what the cluster waits for or lacks now.

sentence.py asks the rules in order of their weight; the rules are in say_replicas.py (ISR, high watermark, losses) and
say_cluster.py (controllers, missing brokers). phrases.py has the forms that they share, words.py how values are written
(the drawing uses it too, so that picture and text show the same digits).
"""
