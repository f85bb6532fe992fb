"""The topic and the connections of the wire tests serve the hostile ones, too."""

from tests.wire.conftest import at, topic_configs

__all__ = ["at", "topic_configs"]
