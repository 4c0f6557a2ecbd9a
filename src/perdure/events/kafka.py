"""Kafka as the bus: an idempotent producer, and a consumer that commits after the work is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from perdure.errors import Unavailable
from perdure.events.payload import DEAD
from perdure.policy import BusPolicy
from perdure.ports import Letter
from perdure.types import EVENTS

_WAITING = BusPolicy()
_BEATS = 3  # signs of life in a session
_WAIT_MS = 50  # a broker holds back an answer for so long where there is nothing to give
_DEFAULT = -1  # partitions and copies of a new topic are the broker's choice
_ALL_LOST = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001 - the library's own name
_SILENT = 2  # it would write to the standard error what we tell ourselves


class KafkaBus:
    """`ports.Bus` on Kafka; share it between one thread that takes and others that publish.

    Args:
        settings: what librdkafka must know to reach the brokers, ``bootstrap.servers`` at least.
        prefix: of every topic.
        group: who takes; of each group one gets a letter.
        takes: the topics that are taken from.
        policy: how long others are waited for.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        prefix: str,
        group: str,
        takes: Iterable[str] = tuple(EVENTS.values()),
        policy: BusPolicy = _WAITING,
    ) -> None:
        self._policy = policy
        self._settings = {"log_level": _SILENT, **settings}
        self._prefix = prefix
        self._group = group
        self._takes = tuple(takes)
        self._publishing = Lock()
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None
        self._held: dict[tuple[str, int], int] = {}
        """By topic and partition the first offset that was given and not taken."""
        self._lost: KafkaError | None = None

    # ── out ──────────────────────────────────────────────────────────────────────────────────────

    def publish(self, letters: Sequence[Letter]) -> None:
        """Returns once the brokers have them all.

        Raises:
            Unavailable: they may have some of them; publishing all again does no harm.
        """
        with self._publishing:
            try:
                self._send(letters)
            except (KafkaException, BufferError) as error:
                self._drop_producer()
                raise _unavailable(error) from None
            except Unavailable:
                self._drop_producer()
                raise

    def _send(self, letters: Sequence[Letter]) -> None:
        if self._producer is None:
            self._see_to_topics()
            self._producer = Producer({
                **self._settings,
                "enable.idempotence": True,
                "delivery.timeout.ms": int(self._policy.taken_s * 1000),
            })  # fmt: skip
        failed: list[KafkaError] = []
        for letter in letters:
            self._producer.produce(
                self._prefix + letter.topic,
                key=letter.key,
                value=letter.body,
                headers=dict(letter.headers),
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            self._producer.poll(0)
        left = self._producer.flush(self._policy.taken_s + 1)
        if failed or left:
            raise _failed(failed[0] if failed else None)

    def _drop_producer(self) -> None:
        """A producer that failed may send what it still has later, out of order: not this one."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaException):
                producer.purge()
                producer.flush(0)

    # ── in ───────────────────────────────────────────────────────────────────────────────────────

    def take(self, limit: int, wait_s: float) -> list[Letter]:
        """The next letters; the same ones again until `taken` was called.

        Raises:
            Unavailable: no broker answers.
        """
        try:
            consumer = self._consumer or self._join()
            if self._held:
                self._rewind(consumer)
            found = consumer.consume(limit, timeout=wait_s)
        except (KafkaException, RuntimeError) as error:
            self._leave()
            raise _unavailable(error) from None
        letters = [self._letter(one) for one in found if one.error() is None]
        wrong = next((one.error() for one in found if one.error() is not None), self._lost)
        if wrong is not None and not letters:
            self._leave()
            raise _failed(wrong)
        self._lost = None
        return letters

    def taken(self) -> None:
        """What `take` gave last need not be given again.

        Raises:
            Unavailable: it will be, to this taker or another.
        """
        if self._consumer is None or not self._held:
            return
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as error:
            self._leave()
            raise _unavailable(error) from None
        self._held = {}

    def close(self) -> None:
        """Leave the group, so that others get what comes."""
        self._leave()
        with self._publishing:
            self._drop_producer()

    def _join(self) -> Consumer:
        self._see_to_topics()
        self._held = {}
        self._lost = None
        self._consumer = Consumer({
            **self._settings,
            "group.id": self._prefix + self._group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": int(self._policy.session_s * 1000),
            "heartbeat.interval.ms": int(self._policy.session_s * 1000 / _BEATS),
            "fetch.wait.max.ms": _WAIT_MS,
            "error_cb": self._note,
        })  # fmt: skip
        self._consumer.subscribe(
            [self._prefix + topic for topic in self._takes], on_revoke=self._revoked
        )
        return self._consumer

    def _leave(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._held = {}
        if consumer is not None:
            with suppress(KafkaException, RuntimeError):
                consumer.close()

    def _rewind(self, consumer: Consumer) -> None:
        """Go back to what was given and not taken."""
        for (topic, partition), offset in self._held.items():
            consumer.seek(TopicPartition(topic, partition, offset))
        self._held = {}

    def _revoked(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Another of the group has these now, from where we committed last."""
        for one in partitions:
            self._held.pop((one.topic, one.partition), None)

    def _letter(self, message: Message) -> Letter:
        place = (message.topic() or "", message.partition() or 0)
        self._held.setdefault(place, message.offset() or 0)
        return Letter(
            topic=place[0].removeprefix(self._prefix),
            key=_text(message.key()),
            headers={name: _text(value) for name, value in _pairs(message)},
            body=message.value() or b"",
        )

    def _note(self, error: KafkaError) -> None:
        if error.code() == _ALL_LOST:
            self._lost = error

    # ── topics ───────────────────────────────────────────────────────────────────────────────────

    def _see_to_topics(self) -> None:
        """Make the topics that are missing.

        Raises:
            KafkaException: no broker answers.
        """
        admin = AdminClient(self._settings)
        known = admin.list_topics(timeout=self._policy.topics_s).topics
        wanted = {self._prefix + topic for topic in (*self._takes, DEAD)} - known.keys()
        if not wanted:
            return
        made = admin.create_topics(
            [NewTopic(name, _DEFAULT, _DEFAULT) for name in sorted(wanted)],
            request_timeout=self._policy.topics_s,
        )
        for future in made.values():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise


def _pairs(message: Message) -> Iterable[tuple[str, str | bytes | None]]:
    headers = message.headers() or ()
    return headers.items() if isinstance(headers, dict) else headers


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def _failed(error: KafkaError | None) -> Unavailable:
    """What went wrong, by its name; the broker's own words may name hosts and more."""
    name = "_TIMED_OUT" if error is None else error.name()
    return Unavailable("Kafka: {name}.", field="PERDURE_BUS", name=name)


def _unavailable(error: Exception) -> Unavailable:
    known = error.args[0] if error.args and isinstance(error.args[0], KafkaError) else None
    return _failed(known)
