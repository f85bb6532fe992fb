"""Client quotas: how many bytes a second a client may send or fetch, how many partitions it may create or delete.

    limits.py      which entity (user, client id, IP address) may have which quota; altering and describing them
    throttling.py  the quotas at work: which one counts for a client, how much it has used, how long it must wait
    api.py         AlterClientQuotas (decided by the controller) and DescribeClientQuotas

It promises: the most specific limit counts (I-QUOTA-2), and memory follows the clients of the last seconds (I-QUOTA-3). A
client above its limit gets its answer at once; then the broker stops reading from it for the time that it must wait.

It knows metadata/ (the image holds the limits). server/ mutes the connection, replication/ charges for bytes, controller/
for changes of topics.
"""
