"""The contract on every bus: in memory, the broker in Kafka's library, a broker by itself."""

from __future__ import annotations

import os
import socket
import uuid

import pytest
from confluent_kafka import Producer

from perdure.events.kafka import KafkaBus
from perdure.events.payload import DEAD
from perdure.policy import BusPolicy
from perdure.ports import Bus
from perdure.testing.bus import MemoryBroker
from perdure.testing.bus_contracts import OTHER, TOPIC, BusContract

BROKER = os.environ.get("PERDURE_TEST_KAFKA") or None  # `make` hands on an empty one
TOPICS = (TOPIC, OTHER)
SESSION_S = {"library": 3.5, "broker": 1.5}
"""The next of a group is let in after so long; the library's broker lets the first wait 3 s."""


@pytest.fixture(scope="module")
def _mock():
    """A producer that holds a broker in itself."""
    return Producer({"bootstrap.servers": "nobody", "test.mock.num.brokers": 1, "log_level": 2})


@pytest.fixture
def servers(request):
    """Addresses of a broker that speaks Kafka."""
    if request.param == "broker":
        if BROKER is None:
            pytest.skip("PERDURE_TEST_KAFKA is not set; `make services` tells it")
        return BROKER
    mock = request.getfixturevalue("_mock")
    return ",".join(
        f"{one.host}:{one.port}" for one in mock.list_topics(timeout=5).brokers.values()
    )


@pytest.fixture
def policy(request):
    """Enough for a broker on this machine; nobody is to wait for a broker in another country."""
    session_s = SESSION_S[request.node.callspec.params["servers"]]
    return BusPolicy(taken_s=5.0, topics_s=2.0, session_s=session_s)


@pytest.fixture
def opened():
    """What is closed at the end."""
    opened: list[Bus] = []
    yield opened
    for bus in opened:
        bus.close()


class TestMemory(BusContract):
    """A bus in memory."""

    @pytest.fixture
    def broker(self):
        return MemoryBroker()

    @pytest.fixture
    def open_bus(self, broker, opened):
        def open_bus(group="perdure"):
            opened.append(broker.bus(group, TOPICS))
            return opened[-1]

        return open_bus

    @pytest.fixture
    def absent_bus(self, broker):
        broker.away = True
        return broker.bus()


@pytest.mark.parametrize("servers", ["library", "broker"], indirect=True)
class TestKafka(BusContract):
    """Kafka."""

    @pytest.fixture
    def open_bus(self, request, servers, opened, policy):
        prefix = f"test-{uuid.uuid4().hex}."
        if (
            servers != BROKER
        ):  # the library's broker makes topics for those who ask for them by name
            for topic in (*TOPICS, DEAD):
                request.getfixturevalue("_mock").list_topics(prefix + topic, timeout=5)

        def open_bus(group="perdure"):
            settings = {"bootstrap.servers": servers}
            opened.append(
                KafkaBus(settings, prefix=prefix, group=group, takes=TOPICS, policy=policy)
            )
            return opened[-1]

        return open_bus

    @pytest.fixture
    def absent_bus(self, servers):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        settings = {"bootstrap.servers": f"127.0.0.1:{port}"}
        policy = BusPolicy(topics_s=0.5)
        return KafkaBus(settings, prefix="test.", group="perdure", takes=TOPICS, policy=policy)
