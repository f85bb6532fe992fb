"""The server: how bytes become requests and responses, and the one door to the world (clock, disk, network, random numbers).

In reading order:

    the world        env.py            Env: all that a broker may use of the machine; the simulator has another one
                     live.py           the real one: sockets, files, threads, and faults on command
                     links.py          connections that can be cut or slowed
    a request        listeners.py      addresses and ports, and which of them may be reached from other machines
                     neighbours.py     whose program is at the other end of a connection on this machine
                     server.py         the listeners of clients, or of nodes: their connections and limits
                     sasl.py           the login of a client, without the socket; oauth.py: its tokens, and
                                       signed_tokens.py: those that somebody has signed; signing_keys.py: by which key
                     login.py          its frames, who may log in, and for how long; jaas.py: how that is configured
                     tls.py            TLS on one connection; certificates.py: what a node shows, and whom it trusts
                     connection.py     one connection: frames in, one request at a time, responses out in order
                     membership.py     the proof that a node belongs to the cluster
                     principals.py     who a client is: the name of its login, or of its certificate
                     registry.py       the table of handlers: `@handles(Request, needs=(Part, ...))`
                     api_versions.py   ApiVersions, the first request of every client
                     answer_size.py    how large an answer may be
    a node           node.py           Node: what every part of a broker knows
                     peer.py           Peers: connections to the other nodes
                     lag.py            how late the event loop is, logged above 250 ms
                     turns.py          long work in slices: what grows with what a client names lets others have their turn
                     scheduler.py      tasks that are repeated
                     trace.py          the events that a broker records about itself; log_lines.py: its log, one line an entry

It promises that responses leave in the order of the requests (I-CONN-1), that no request can take the broker down (I-CONN-3),
that memory has a bound (I-SRV-2), and that what is served is what is advertised. It knows the image and the settings
(metadata/, config/, quotas/), and asks authorizer/ what a client may do; it knows no other room.
"""
