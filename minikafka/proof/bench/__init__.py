"""The same work on both engines in one run: how fast are our brokers beside Apache Kafka's?

    command.py   `python -m minikafka bench`: interleave the engines, print the table, write JSON and the plot
    rows.py      the rows, a table: which work, at which sizes, and the figures that it gives
    work.py      what each row does to a cluster
    clients.py   the clients, processes of their own: a paced producer, bulk producers, bulk consumers, many connections
    machine.py   the machine that the figures are true of, and the CPU time and memory of brokers on it
    table.py     rounds to ratios: the table as text, and the plot, in which what grows is a line

Absolute figures are true of one machine at one moment; the ratios are what counts, and they compare two engines that did the
same work within the same minute. The clients are librdkafka's, so that they cost both engines the same.
"""
