"""The consumer: from an assignment to records, and from records to committed offsets.

    consumer.py         the calls of an application, and which of the parts below acts when
    positions.py        where the consumer is in each partition, and whether it may fetch from there
    questions.py        the requests that find or validate a position: ListOffsets, OffsetForLeaderEpoch
    fetcher.py          at most one fetch in flight for each broker; fetch_session.py: the client's half of a session
    fetched_records.py  from the bytes of a fetch to the records that may be seen (read_committed)
    commits.py          commit offsets, and ask for committed ones
    group_member.py     what a member knows in either protocol
    classic_member.py   membership in the classic protocol: join, sync, heartbeat, leave
    assignors.py        what the leader of a classic group computes: range, cooperative-sticky
    consumer_member.py  membership in the consumer protocol (KIP-848): one request, the heartbeat
    read_all.py         a whole partition, once, for the end of a run

Promised: what is committed was returned by an earlier poll (I-CONSUMER-1); records come in the order of their offsets,
each once (I-FETCHER-1); after a change of leader a position is validated before the next fetch (I-POSITIONS-2).
"""
