"""A Python program that was written for threads and sockets, unchanged, as one more process of a simulated world.

    threads.py   its threads: greenlets, each step of which is a callback of the world; locks, events, conditions, sleep
    sockets.py   its sockets, whose other end is a simulated broker, and the selector that waits for them
    guest.py     `Guest`: the process, and the modules that its code and kafka-python find while it runs

It knows no broker and judges nothing. Nothing outside of sim/ and lab/ knows of it.
"""
