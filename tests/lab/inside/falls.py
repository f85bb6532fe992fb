"""How each wrong answer falls in the adversary's nights: words of the verdict.

HARMLESS: `check` refuses the answer, and no client can see why; the comment says the reason where it is not plain.
"""

HARMLESS = "0 lost"
IN_HALVES = "night B (four controllers, cut into two and two): decided and gone."
FIGURE_8 = "night C (a record of an older epoch is copied; who lacks it has a newer epoch): decided and gone."
ONE_DEAD = "night A (one of four controllers is dead; later the one that leads): stood still."

FALLS = {
    "2.2": {
        "also at the exact age": HARMLESS,      # a broker looks every few minutes: nobody sees one millisecond
        "never the last segment": "night B (seven records, and then nobody writes): kept too long. Record 6 can be read",
        "0 when all is gone": "you let the log begin at 0; its segments begin at [3, 6], and end at 7",
        "the youngest only": "night A (a record comes every second): gone too early. Record 0 is 5 s old and gone",
        "from the middle": "night C (between young records stand three of a machine whose clock is wrong): gone too early",
        "which segment": "you let the log begin at 1",
        "the whole segment": "a number is wanted",
        "each record at its own age": "gone too early",
        "looks at the first only": "kept too long. Record 9 can be read, and is 31 s old",
        "nothing when all is gone": "returned None",
        "halves a list that is not sorted": "night C",
        "the end of the log": "gone too early",
    },
    "4.6": {
        "deals each topic by itself": "night A (two members, two topics of three partitions; then a third member comes): "
        "uneven. C1 reads 4 partitions, C2 reads 2: C2 has nothing to do, and 6 records still wait for C1.",
        "deals in the order of arrival": HARMLESS,          # only the group's leader computes the shares
        "begins with the first member at every topic": "uneven. C1 reads 4 partitions, C2 reads 2",
        "counts partitions from 1": "stood still. Nobody reads fares-0: for 30 s its records have waited",
        "deals whole topics": "uneven. C1 reads 3 partitions, C3 reads 0",
        "forgets the odd ones": "night B (three members, seven partitions; one member dies): stood still. Nobody reads rides-3",
        "gives the odd ones to the last": "night C (three members, two partitions; one member dies): uneven. C3 reads 2",
        "gives everything to everybody": "worked on twice. C1 has worked on record 0 of rides-0, and C2 works on it, too",
        "returns how many, not which": "a list of pairs (topic, number) is wanted",
        "returns words, not pairs": "a list of pairs (topic, number) is wanted",
        "returns a list of lists": "a dictionary from texts to lists is wanted",
        "leaves out members that get nothing": HARMLESS,    # the coordinator sends them an empty share
        "takes a number for a list": "has no len()",
        "three faults: a partition for nobody, an uneven share, the order of arrival": "stood still. Nobody reads rides-2",
    },
    "5.7": {
        "looks for offsets that go back": "night B (C1 commits what it has polled, and dies; the commit arrives when C1 is out): "
        "skipped. The group had committed 10. A late commit of C1, 30, arrived. Then C2 got the partition, and began at 30: "
        "10 to 29 are skipped.",
        "asks for the generation only": "skipped. The group had committed 10. A late commit of C1, 30, arrived.",
        "asks for the member only": "night C (C1 gets the partition of C2, of which a commit is still on its way): skipped",
        "refuses who fails both": "skipped",
        "judges all by the last generation": HARMLESS,      # a broker decides at once: no generation is later than the commit's
        "forgets no member": "skipped",
        "accepts a newer generation": HARMLESS,             # no member can name a generation that has not begun
        "returns those that are accepted": "refused. C2 has the partition, and its commit of 25 was refused",
        "returns offsets": "a list of commits is wanted",
        "returns how many": "a list is wanted",
        "returns the first only": "worked on twice. The group had committed 25. A late commit of C1, 10, arrived. Then C3 got "
        "the partition, and began at 10: 10 to 24 come again",
        "takes who goes back for a zombie": "refused. C2 has the partition, and its commit of 5 was refused",
    },
    "6.2": {
        "looks at the leader and one follower": "night A (broker 3 is in sync and slow; 1 and 2 die): lost. 15 acknowledged. "
        "Broker 1 promised 10 to 14 while broker 3, in sync, ended at 10. Then 1 and 2 died, 3 leads: 5 are lost.",
        "waits for everybody": "stood still. A record got no answer for 6 s. In sync: 3 ends at 7, 1 ends at 7.",
        "the longest log": "5 are lost",
        "the last offset, not the end": "stood still. A record got no answer",
        "a majority of those in sync": "5 are lost",
        "a majority of all": "5 are lost",
        "the broker, not the offset": "its own log ends at 0: nobody has what it would promise",
        "the mean of those in sync": "night D (as in A, while somebody sends twenty records a second): lost.",
        "the followers only": "IndexError",
        "an empty log does not count": "ValueError",
        "takes brokers for places": "stood still",
        "those that are out": "stood still",
    },
    "8.6": {
        "counts records": "night A (broker 2 lives and copies nothing; nobody may wait for it forever): stood still. For 30 s "
        "broker 2 stayed in the ISR. In sync: 1 ends at 6, 2 ends at 5, 3 ends at 6. Broker 1 leads, and its high watermark "
        "stands at 5.",
        "takes the age of the newest record": "night C (2 and 3 are three seconds behind, and then 1, the leader, dies): stood "
        "still. Broker 1 died, and 20 s later it has no successor: nobody who lives leads positions-0; only broker 1 was in "
        "sync.",
        "does not look again as time passes": "night A",
        "lets one record pass": HARMLESS,       # a follower that goes on fetching does not stay one record short
        "looks at the last fetch": "night B (broker 2 fetches, and is slower than the writer): stood still.",
        "counts only who reached the end of that moment": "night C",
        "forgets itself": "you leave out 1, which leads",
        "an idle partition makes its followers late": "night D (2 and 3 have everything, and nobody writes; then 1, the leader, "
        "dies): stood still.",
        "exactly the limit is too late": HARMLESS,      # no clock shows exactly the limit
        "one clock for both followers": "night A",
        "everybody, always": "night A",
        "how many": "a set of numbers is wanted",
        "no return": "a set of numbers is wanted",
        "one text": "a set of numbers is wanted",
    },
    "8.10": {
        "cuts nothing": "night B (1 dies with a record of its own; 2 leads, and 1 comes back): lost. At offset 5 broker 2, the "
        "leader, has a record of epoch 1, and broker 1, in sync, one of epoch 0; the high watermark is 9. Record 7",
        "cuts everything": "While broker 2 led, broker 3 cut its log at 0, and so threw away 0 to 5, which was promised. "
        "Then 2 died, 3 leads: 6 are",
        "at the high watermark": "night A (1, the leader, dies; then 2, its successor, before 3 has copied anything of it): "
        "lost. 6 acknowledged. Broker 1 died. While broker 2 led, broker 3 cut its log at 5, and so threw away 5, which was "
        "promised. Then 2 died, 3 leads: 1 is lost.",
        "at the high watermark, where they part": "night D (1 dies; 3 has more than 2, its successor, and cuts; 2 dies before 3 "
        "has copied anything of it): lost.",
        "at the leader's end, whatever the epoch": "night C (1 leads, then 2, then 3, which has copied nothing of 2; 2 comes "
        "back): read and gone. At offset 5 broker 3, the leader, has a record of epoch 0, and broker 2, in sync, one of epoch 1",
        "by its own epochs only": "night B (1 dies with a record of its own",
        "never below the high watermark": HARMLESS,
        "its last epoch, always": "night A (1, the leader, dies",
        "where the epoch begins": "night A (1, the leader, dies",
        "the last that stays": "While broker 2 led, broker 3 cut its log at 5, and so threw away 5",
        "beyond its end": "you said 10. A log that ends at 6 can be cut at 0 to 6",
        "how many are cut": "night A (1, the leader, dies",
        "the answer": "a whole number is wanted",
        "no return": "returned None",
    },
    "9.3": {
        "the first that is alive": "night A (broker 2 lives and copies nothing; then 1, the leader, dies): lost. 10 acknowledged."
        " Then 1 died, broker 2 was made the leader, and its log ended at 5: 5 are lost.",
        "the preferred one, whoever leads": "replaced without need. Broker 3 led, lived and was in sync",
        "who is alive does not matter": "nobody who lives leads positions-0, though broker 3 is alive and in sync",
        "waits for the old leader": "nobody who lives leads positions-0, though broker 3 is alive and in sync",
        "the order of the ISR": HARMLESS,
        "forgets the ELR": "dies): stood still. Broker 1 died, and 20 s later it has no successor: nobody who lives leads "
        "positions-0, though broker 3 is alive and in the ELR.",
        "the ELR beside the ISR": HARMLESS,     # nothing is acknowledged then, and so both have everything
        "nobody is None": "returned None",
        "never changes": "nobody who lives leads",
        "a list of who may": "is wanted",
        "text": "is wanted",
    },
    "9.6": {
        "always": "night B (two controllers ask the third for its vote in the same epoch): two leaders. Controllers 101 and 103 "
        "both lead in epoch 2",
        "never": "night A (the controller that leads dies, and comes back; then the next one): stood still. Controllers 102 and "
        "103 live, and for 15 s no topic could be created",
        "votes twice": "night B (two controllers ask the third for its vote in the same epoch): two leaders.",
        "votes for shorter logs": "night C (a controller that was cut off asks for votes; it lacks what was decided): decided "
        "and gone. topic-1 was created and acknowledged, and is record 14 of the metadata log. Controller 103 leads in epoch 2",
        "by length only": "night D (the old leader was cut off, wrote on, and asks for votes: nothing of that was decided): "
        "decided and gone.",
        "a longer log only": "night A (the controller that leads dies, and comes back; then the next one): stood still.",
        "one vote for ever": "night A (the controller that leads dies, and comes back; then the next one): stood still.",
        "an old epoch may ask": HARMLESS,       # the voter answers with its own epoch, and the candidate of an old one gives up
        "not the same again": HARMLESS,         # the candidate tries again in the next epoch
        "the same one always": HARMLESS,        # of three, who has one vote beside its own leads: nobody else wrote in that epoch
    },
    "9.11": {
        "half of them": f"{IN_HALVES} topic-2 was created and acknowledged, and is record 16 of the metadata log. Controller 103 "
        "leads in epoch 2, and its log has not that record",
        "half, rounded up": "Controller 103 leads in epoch 2, and its log has not that record: at 16 it goes on with records of "
        "its own.",
        "the upper median": IN_HALVES,
        "all of them": f"{ONE_DEAD} Controllers 102, 103 and 104 live, and for 15 s no topic could be created",
        "the longest log": IN_HALVES,
        "the leader's own log": IN_HALVES,
        "does not count itself": ONE_DEAD,
        "two are always enough": IN_HALVES,
        "an older epoch by counting": f"{FIGURE_8} Controller 101 decided record 16 of the metadata log, which is of epoch 1. "
        "Controller 103 leads in epoch 6, and its log has not that record: at 16 stands one of epoch 4.",
        "from the epoch's start on": FIGURE_8,
        "goes back": HARMLESS,              # no disk comes back empty in these nights, and a leader keeps the higher offset
        "0 for nothing new": HARMLESS,      # a leader keeps the higher offset
        "the last record, not the end": "you return 15, and no log ends there",
        "nothing, ever": f"{ONE_DEAD} Controllers 101, 102, 103 and 104 live, and for 15 s no topic could be created",
        "True or False": "an offset, a whole number, is wanted",
        "how many": "stood still. Controllers 101, 102, 103 and 104 live, and for 15 s no topic could be created: nobody decides"
        ". Their logs end at 58, 58, 58, 58; below 14 all is decided.",
        "no return": "returned None",
    },
    "10.3": {
        "remembers only the last batch": "night B (five batches are on the way, and all five answers are lost): refused. Batch b "
        "of producer 7, epoch 0, sequence 1, was right, and the leader answered OUT_OF_ORDER_SEQUENCE_NUMBER",
        "lets zombies write": "duplicated. Record x was to be stored once. It stands in the log at offsets 5 and 6.",
        "remembers every batch": HARMLESS,      # five is a limit of memory; a producer sends no older one again
        "never fences": "night D (a batch is late",
        "an old epoch's batches are duplicates": "lost. Record c was acknowledged with offset 1. There stands record e",
        "keeps the batches of the old epoch": "night D (a batch is late",
        "gaps pass": "night C (a batch overtakes another; a second producer has the same numbers): duplicated.",
        "strangers begin at 0": "refused. Batch p of producer 9, epoch 0, sequence 40, was right",
        "the offset is the end for a duplicate": "you said ('duplicate', 1), and the log ends at 1: no batch stands there yet",
        "the word only": "a pair such as ('append', 0) is wanted",
        "a word of its own": "'appended' is none of the four words",
        "the offset first": "a pair of a word and an offset is wanted",
        "the offset as a text": "behind 'append' stands '0', of type str",
        "everything is new": "night A (an answer is lost, and the producer sends its batch again; then 1, the leader, dies): "
        "duplicated.",
        "0 for nothing": HARMLESS,      # a refusal carries no offset
        "looks at the first sequence only": HARMLESS,   # a producer never sends half of a batch again
        "one table for all producers": "is in no log: it is lost",
        "offset 0 is taken for none": "refused. Batch a of producer 7",
        "writes the new epoch down before it refuses": "lost. Record b was acknowledged with offset 0",
        "its sequence for its offset": "you append a batch at offset 0, and the log ends at",
    },
    "10.7": {
        "the high watermark": "night A (a transaction is open, readers read, and it is aborted): read and gone. A reader of "
        "committed records got record A4 at offset 3, while the transaction of till A, producer 0, was open: it began at 3. Then "
        "it was aborted; records read and gone: 2.",
        "the one that began last": "night B (a transaction begins after another one and ends before it; then the other way round)"
        ": read and gone. A reader of committed records got record B2 at offset 1, while the transaction of till B, "
        "producer 1000, was open",
        "the first in the dictionary": "got record B2 at offset 1, while the transaction of till B, producer 1000, was open",
        "the last in the dictionary": "got record A6 at offset 7, while the transaction of till A, producer 0, was open",
        "forgets the high watermark": "night C (3, in sync, is cut off from 1; a transaction begins above the high watermark; 1 "
        "and 2 die): read and gone. A reader of committed records got record s0 at offset 5, when the high watermark was 5. It "
        "is in no log any more",
        "always 0": "stood still. Record 1, at offset 0, counts, and no open transaction begins before it. For 6 s a reader of "
        "committed records has not got it. The last stable offset is 0, the high watermark 7.",
        "0 while one is open": "night A (a transaction is open, readers read, and it is aborted): stood still. Record 1",
        "0 if none is open": "night A (a transaction is open, readers read, and it is aborted): stood still. Record 6",
        "nothing if none is open": "returned None",
        "one record too many": "read and gone: 1",
        "one record too few": "stood still. Record 3, at offset 2, counts",
        "ids for offsets": "stood still. Record 1, at offset 0, counts",
        "how many are open": "read and gone: 2",
        "one must be open": "ValueError",
        "a list": "a number is wanted",
        "a text": "a number is wanted",
    },
}
