"""What cannot be read goes to the dead letters as it came; what works is told, and since when."""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from perdure.errors import DatabaseUnavailable, Rejected
from perdure.events.payload import DEAD, letter, read
from perdure.ports import Letter
from perdure.testing.samples import ANN, NOW, promise
from perdure.types import EVENTS, JobType, Outgoing

GOOD = {
    "user_id": "ann", "conversation_id": "c", "assistant_id": None, "run_id": None,
    "source_message_id": "m", "source_role": "user", "source_text": "我喜欢茶。",
    "occurred_at": "2026-03-10T09:00:00+00:00", "trace_id": "t", "idempotency_key": "k",
}  # fmt: skip


def sent(body, *, topic=EVENTS[JobType.EXTRACT], **headers):
    about = {"namespace": "default", "version": "1", **headers}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Letter(topic=topic, key="k", headers=about, body=raw)


BAD = {
    "no JSON": (sent(b"\xff{"), "body"),
    "nothing": (sent(b""), "body"),
    "a list": (sent([GOOD]), "body"),
    "a field too many": (sent({**GOOD, "我的秘密": "x"}), r"body.*\?: extra_forbidden"),
    "a field too few": (sent({k: GOOD[k] for k in GOOD if k != "run_id"}), "run_id: missing"),
    "a number for a name": (sent({**GOOD, "user_id": 7}), "user_id: string_type"),
    "an empty user": (sent({**GOOD, "user_id": ""}), "user_id: string_too_short"),
    "an endless user": (sent({**GOOD, "user_id": "x" * 256}), "user_id: string_too_long"),
    "a time of nowhere": (sent({**GOOD, "occurred_at": "2026-03-10T09:00:00"}), "occurred_at"),
    "a role of nobody": (sent({**GOOD, "source_role": "king"}), "source_role"),
    "a version to come": (sent(GOOD, version="2"), "version"),
    "no namespace": (sent(GOOD, namespace=""), "namespace"),
    "an event's fields under another": (sent(GOOD, topic=EVENTS[JobType.CLEANUP]), "forbidden"),
}


@pytest.mark.spec("5")
@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_goes_to_the_dead_letters_as_it_came(small_office, name, caplog):
    """C 7.2.1, 6.2: a bad payload is not tried again; the reason says the rule, never the words."""
    office, (wrong, why) = small_office, BAD[name]
    office.broker.letters.append(wrong)
    with caplog.at_level(logging.INFO):
        office.consumer.run_once()
        office.consumer.run_once()  # its own dead letters are none of its business
    dead = [one for one in office.broker.letters if one.topic == DEAD]
    assert len(dead) == 1
    assert dead[0].body == wrong.body
    assert dead[0].headers["topic"] == wrong.topic
    with pytest.raises(Rejected, match=why) as refused:
        read(wrong)
    assert dead[0].headers["reason"] == str(refused.value)
    assert "秘密" not in dead[0].headers["reason"] + caplog.text
    assert "茶" not in dead[0].headers["reason"] + caplog.text
    assert (office.jobs(), office.outcomes("dead")) == ([], 1)


def test_an_event_of_another_name_is_none_of_ours():
    with pytest.raises(Rejected, match="topic"):
        read(sent(GOOD, topic="memory.dream.requested"))


@pytest.mark.spec("5")
@pytest.mark.parametrize("kind", EVENTS)
def test_every_event_that_is_written_can_be_read(kind):
    payload = GOOD if kind is JobType.EXTRACT else {"items": ["i"]}
    said = promise(ANN, "k", type=kind, payload=payload, conversation="对话")
    event = letter(Outgoing(id=1, promise=said, at=NOW))
    assert read(event) == (ANN, "k")
    with pytest.raises(Rejected):
        read(replace(event, body=event.body.replace(b'"ann"', b'"ann","more":1')))


def test_a_bad_letter_holds_up_none_of_those_behind_it(small_office):
    office = small_office
    office.broker.letters.append(sent(b"?"))
    office.promise("k", payload=GOOD)
    office.relay.run_once()
    office.consumer.run_once()
    assert office.jobs() == ["k"]


@pytest.mark.spec("5")
def test_letters_that_the_database_could_not_take_come_again(small_office, monkeypatch):
    office = small_office
    for key in ("1", "2"):
        office.promise(key, payload={**GOOD, "idempotency_key": key})
    office.relay.run_once()
    with monkeypatch.context() as patched:
        patched.setattr(office.database, "begin", away)
        with pytest.raises(DatabaseUnavailable):
            office.consumer.run_once()
    assert office.jobs() == []
    office.consumer.run_once()
    assert office.jobs() == ["1", "2"]


def away(_scope=None):
    raise DatabaseUnavailable


@pytest.mark.spec("5")
def test_relay_and_consumer_go_on_by_themselves_and_say_since_when_the_broker_is_gone(
    small_office, caplog
):
    office = small_office
    office.policy = office.policy.but(poll_s=0.01)
    office.relay = office.relay_of(office.database)
    office.consumer = office.consumer_of(office.broker.bus("another"))
    assert office.watch.health.state == "up"
    office.broker.away = True
    stop = threading.Event()
    threads = [
        threading.Thread(target=part.run, args=(stop,)) for part in (office.relay, office.consumer)
    ]
    for thread in threads:
        thread.start()
    reached(lambda: office.watch.health.state == "degraded")  # nothing to publish: who knows
    office.turn(60)
    office.promise("k", payload=GOOD)
    office.relay.notify()
    reached(lambda: office.watch.health.state == "down")
    assert office.watch.health.since == NOW + timedelta(seconds=60)
    office.turn(60)
    office.broker.away = False
    reached(lambda: office.jobs() == ["k"])
    reached(lambda: office.watch.health.state == "up")
    assert office.watch.health.since == NOW + timedelta(seconds=120)
    stop.set()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    assert len(caplog.records) == 4  # each told once when it went, and once when it came
    assert "茶" not in caplog.text


def reached(what):
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)
