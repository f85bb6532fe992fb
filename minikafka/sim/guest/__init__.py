"""A Python program that was written for threads and sockets, unchanged, as one more process of a simulated world.

    threads.py   its threads: greenlets, each step of which is a callback of the world; sleep, and the look at a clock
    locks.py     what its code finds under the names of `threading`
    sockets.py   its sockets, whose other end is a simulated broker, and the selector that waits for them
    streams.py   its standard input, its output and errors
    modules.py   `Modules`: the modules that its code and kafka-python find when they import
    guest.py     `Guest`: the process, from its first line to its exit code

It knows no broker and judges nothing. Only lab/ and proof/ know of it.
Not simulated: subprocess, multiprocessing, asyncio, concurrent.futures, clients that are written in C (librdkafka).
"""
