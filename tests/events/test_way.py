"""The way out in a running Perdure: from the door over a bus to what was learnt."""

from __future__ import annotations

import sys
import time

import pytest

from perdure import Memory, Message, Scope
from perdure.errors import Misconfigured, MissingExtra
from perdure.settings import Settings, load
from perdure.testing.bus import MemoryBroker
from perdure.wiring import bus_of, wire

ANN = Scope(user="ann")
KAFKA = {"PERDURE_BUS": "kafka", "PERDURE_KAFKA_SERVERS": "127.0.0.1:9"}


@pytest.fixture
def broker(monkeypatch):
    broker = MemoryBroker()

    def made(settings):
        return None if settings.bus == "none" else broker.bus()

    monkeypatch.setattr("perdure.wiring.running.bus_of", made)
    return broker


def opened(url):
    settings = load({**KAFKA, "PERDURE_POLICY__JOBS__POLL_S": "0.05"})
    return Memory(wire(settings.but(database_url=url, embedder="none")))


@pytest.mark.spec("5", "3.2")
def test_a_turn_goes_out_comes_back_and_is_learnt(broker, tmp_path):
    with opened(f"sqlite:///{tmp_path / 'perdure.db'}") as memory:
        memory.start()
        taken = memory.capture(ANN, "c", [Message("user", "我住在卑尔根。", id="m")])
        assert memory.wait(taken, 30).state == "learnt"
        assert {one.topic for one in broker.letters} == {
            "memory.extract.requested", "memory.embed.requested",
        }  # fmt: skip
        assert memory.parts.way.watch.health.state == "up"


@pytest.mark.spec("5", "3.2")
def test_a_turn_in_the_host_s_own_transaction_goes_out_with_it(broker, tmp_path):
    with opened(f"sqlite:///{tmp_path / 'perdure.db'}") as memory:
        with memory.engine.connect() as connection:
            begun = connection.begin()
            memory.capture(ANN, "c", [Message("user", "I live in Oslo.")], connection=connection)
            begun.rollback()
        with memory.engine.begin() as connection:
            memory.capture(ANN, "c", [Message("user", "I live in Bergen.")], connection=connection)
        assert memory.parts.way.relay.run_once() == 2
        assert "Bergen" in broker.letters[-1].body.decode() + broker.letters[-2].body.decode()


@pytest.mark.spec("5")
def test_what_was_on_its_way_is_learnt_after_a_start_without_a_bus(broker, tmp_path):
    url = f"sqlite:///{tmp_path / 'perdure.db'}"
    broker.away = True
    with opened(url) as memory:
        taken = memory.capture(ANN, "c", [Message("user", "I live in Bergen.")])
    with Memory.open(settings=Settings(database_url=url, embedder="none")) as memory:
        assert memory.wait(taken, 30).state == "learnt"


@pytest.mark.spec("5")
def test_relay_and_consumer_end_at_once_when_they_are_told_also_without_a_broker(tmp_path):
    """A broker that is not there, by Kafka's own library."""
    settings = load(KAFKA).but(database_url=f"sqlite:///{tmp_path / 'perdure.db'}", embedder="none")
    memory = Memory(wire(settings))
    memory.start()
    memory.capture(ANN, "c", [Message("user", "I live in Bergen.")])
    time.sleep(0.5)
    started = time.monotonic()
    memory.close(timeout=10)
    assert time.monotonic() - started < 15


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.delitem(sys.modules, "perdure.events.kafka", raising=False)
    with pytest.raises(MissingExtra, match=r"perdure\[kafka\]"):
        bus_of(load(KAFKA))


def test_a_bus_needs_an_address_and_a_database(tmp_path):
    with pytest.raises(Misconfigured, match="PERDURE_KAFKA_SERVERS"):
        bus_of(load({"PERDURE_BUS": "kafka"}))
    desktop = load(KAFKA, preset="desktop", database_url=str(tmp_path / "memory.json"))
    with pytest.raises(Misconfigured, match="PERDURE_BUS"):
        wire(desktop)
