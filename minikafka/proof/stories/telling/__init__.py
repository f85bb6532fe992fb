"""The means by which stories are told: scripts by name, the world that a script acts on, clients led by hand, the narrator.

    script.py        `@script`: a story as it is written, and one telling of it
    story.py         what a script of a whole cluster does and sees
    ending.py        the same with transactions or groups, read and judged at the end
    quorum_story.py  the same for the quorum alone (proof/small_worlds/raft/world.py)
    client.py        a client with a connection to each broker; writer.py: a producer; reader.py: consumers;
                     member.py: a member of a group. Each does one step when the script calls it
    narrate.py       one sentence for each event that a reader wants to know
    tables.py        the replicas of a partition as a table
    teller.py        the transcript so far, step by step
    command.py       `python -m minikafka sim tell`
"""
