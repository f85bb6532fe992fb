"""A client whose connections a story controls: one to each broker.

The client may give its connections up and make new ones, over another path; its requests on the old ones may still arrive.

Owns: the connections.
"""

from __future__ import annotations

from kafka.protocol.metadata import MetadataRequest

from minikafka.broker.server.peer import Peer
from minikafka.proof.stories.telling.story import PATIENCE, Story
from minikafka.protocol.errors import Err
from minikafka.sim.world.host import host_name

NO_ANSWER = "no answer"


class Stuck:
    """The frames that a client has sent to a broker over one connection, and that the network keeps."""

    def __init__(self, story: Story, host: str, node: int) -> None:
        self.story, self.host, self.node = story, host, node
        story.world.cut(host, node, one_way=True)

    def release(self) -> None:
        """Let them arrive."""
        self.story.world.net.heal(self.host, host_name(self.node))


class StoryClient:
    """A client that talks to brokers under a name; `host` is the path that it takes now."""

    def __init__(self, story: Story, name: str) -> None:
        self.story, self.name, self.host = story, name, name
        self._peers: dict[tuple[str, int], Peer] = {}

    def peer(self, node: int) -> Peer:
        key = self.host, node
        if key not in self._peers:
            world = self.story.world
            host, port = dict(zip(world.brokers, world.bootstrap, strict=True))[node]
            self._peers[key] = Peer(world.client_env(self.host), node, host, port, self.name)
        return self._peers[key]

    async def hang(self, node: int) -> Stuck:
        """Hold, from now on, what this client sends to that broker over its present connection."""
        await self.peer(node).request(MetadataRequest(topics=[]), 12, PATIENCE)  # now there is a connection
        return Stuck(self.story, self.host, node)

    def reconnect(self) -> None:
        """Give up on requests in flight, and use new connections, over another path, from now on."""
        self.host += "'"

    def too_late(self, what: str, error: Err) -> str:
        """Write an answer on a connection that was given up: the client does not get it, the transcript has it."""
        self.story.note(f"(to a connection given up: {what} {'done' if error is Err.NONE else error.name})")
        return NO_ANSWER
