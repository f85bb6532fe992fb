"""How each wrong answer falls in the adversary's nights: words of the verdict.

HARMLESS: `check` refuses the answer, and no client can see why.
"""

HARMLESS = "0 lost"

FALLS = {
    "6.2": {
        "looks at the leader and one follower": "night A (broker 3 is in sync and slow; 1 and 2 die): lost. 15 acknowledged. "
        "Broker 1 promised 10 to 14 while broker 3, in sync, ended at 10. Then 1 and 2 died, 3 leads: 5 are lost.",
        "waits for everybody": "stood still. Record 7 got no answer for 6 s. In sync: brokers 3 and 1",
        "the longest log": "5 are lost",
        "the last offset, not the end": "stood still. Record 1 got no answer",
        "a majority of those in sync": "5 are lost",
        "a majority of all": "5 are lost",
        "the broker, not the offset": "its own log ends at 0: nobody has what it would promise",
        "the followers only": "IndexError",
        "an empty log does not count": "ValueError",
        "takes brokers for places": "stood still",
        "those that are out": "stood still",
    },
    "9.3": {
        "the first that is alive": "night A (broker 2 lives and copies nothing; then 1, the leader, dies): lost. 10 acknowledged."
        " Then 1 died, broker 2 was made the leader, and its log ended at 5: 5 are lost.",
        "the preferred one, whoever leads": "replaced without need. Broker 3 led, lived and was in sync",
        "who is alive does not matter": "nobody who lives leads positions-0, though broker 3 is alive and in sync",
        "waits for the old leader": "nobody who lives leads positions-0, though broker 3 is alive and in sync",
        "the order of the ISR": HARMLESS,
        "nobody is None": "returned None",
        "never changes": "nobody who lives leads",
        "a list of who may": "is wanted",
        "text": "is wanted",
    },
}
