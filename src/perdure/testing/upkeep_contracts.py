"""What every store must know of what is overdue and what disagrees; see `contracts`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from perdure.ports import Corpus, Database, Due, Transaction, VectorEntry
from perdure.testing.samples import ANN, AWKWARD, BO, NOW, later, memory, promise, unit
from perdure.types import (
    Actor,
    AuditEntry,
    Feedback,
    Job,
    JobType,
    Message,
    Operation,
    Role,
    Scope,
    Status,
    VectorStatus,
    Verdict,
)

NOTHING = Due(expired=None, deleted=later(-1_000), kept=None, merged=later(-1_000))


def entry(item: str, scope: Scope = ANN, **about: str) -> AuditEntry:
    """One change of one memory."""
    return AuditEntry(
        id=f"{scope.user} {item}"[-64:], item=item, namespace=scope.namespace, user=scope.user,
        operation=Operation.CREATE, actor=Actor.USER, reason="by hand", before=about.get("before"),
        after=about.get("after"), at=NOW,
    )  # fmt: skip


class UpkeepContract:
    """Owners are found across users, and nothing of theirs is given away by that."""

    @pytest.mark.spec("3.4", "5")
    def test_owners_of_something_overdue_are_found_by_each_sort(self, database: Database) -> None:
        """C 5.1: expired memories are found by index; deleted ones and messages likewise."""
        with database.begin() as tx:
            tx.items.add(memory(Scope(user="expires"), "Parked here", expires_at=later(5)))
            done = memory(Scope(user="done"), "x", expires_at=later(5), status=Status.ARCHIVED)
            tx.items.add(done)
            tx.items.bury(Scope(user="deletes"), memory(Scope(user="deletes"), "x"), later(5))
            said = [Message(Role.USER, "hi", at=later(-9_999))]
            tx.messages.add(Scope(user="says"), "c", said, later(5), "t")
            tx.items.bury(Scope(user="else", namespace="other"), memory(ANN, "x"), later(-10))
        with database.read() as tx:

            def found(**due: datetime) -> list[str]:
                owners = tx.owners.overdue("default", replace(NOTHING, **due))
                assert {owner.namespace for owner in owners} <= {"default"}
                return [owner.user for owner in owners]

            assert found() == []
            assert found(expired=later(4)) == found(deleted=later(4)) == found(kept=later(5)) == []
            assert found(expired=later(5)) == ["expires"]
            assert found(deleted=later(5)) == ["deletes"]
            assert found(kept=later(6)) == ["says"]
            everything = Due(expired=later(6), deleted=later(6), kept=later(6), merged=later(6))
            assert len(tx.owners.overdue("default", everything)) == 3
            assert [o.user for o in tx.owners.overdue("other", everything)] == ["else"]

    def test_every_owner_is_known_whatever_the_name(self, database: Database) -> None:
        with database.begin() as tx:
            for number, user in enumerate(AWKWARD):
                scope = Scope(user=user, namespace="b" if number % 2 else "a")
                if number % 3:
                    tx.items.add(memory(scope, "Likes tea"))
                else:
                    tx.messages.add(scope, "c", [Message(Role.USER, "hi")], NOW, "t")
        with database.read() as tx:
            assert tx.owners.namespaces() == ["a", "b"]
            assert {o.user for o in tx.owners.every("a")} == set(AWKWARD[::2])
            assert tx.owners.every("c") == []

    @pytest.mark.spec("3.4", "9")
    def test_a_deleted_text_is_noted_until_it_is_scrubbed(self, database: Database) -> None:
        """Also when the statement was made again meanwhile, and its tombstone forgotten."""
        one, two = memory(ANN, "Lives in Oslo", id="1"), memory(ANN, "Likes tea", id="2")
        with database.begin() as tx:
            tx.items.bury(ANN, one, NOW)
            tx.items.bury(ANN, two, NOW)
            tx.items.bury(ANN, two, later(9))
            tx.items.unbury(ANN, one.content_hash)
            assert tx.items.unscrubbed(ANN, NOW) == ["1"]
            assert tx.items.unscrubbed(ANN, later(9)) == ["1", "2"]
            assert tx.items.unscrubbed(BO, later(9)) == []
            tx.items.scrubbed(BO, ["1", "2"])
            tx.items.scrubbed(ANN, ["1"])
            assert tx.items.unscrubbed(ANN, later(9)) == ["2"]
            assert tx.items.buried(ANN, [two.content_hash])

    @pytest.mark.spec("9")
    def test_a_scrubbed_history_keeps_what_happened(self, database: Database) -> None:
        with database.begin() as tx:
            tx.audit.add([entry("1", after="Lives in Oslo"), entry("2", after="Likes tea")])
            tx.audit.add([entry("1", BO, before="Lives in Oslo")])
            tx.audit.scrub(ANN, ["1"])
            tx.audit.scrub(ANN, [])
        with database.read() as tx:
            assert tx.audit.of(ANN, "1") == [entry("1")]
            assert tx.audit.of(ANN, "2") == [entry("2", after="Likes tea")]
            assert tx.audit.of(BO, "1") == [entry("1", BO, before="Lives in Oslo")]
            assert tx.audit.every(ANN) == [entry("1"), entry("2", after="Likes tea")]

    @pytest.mark.spec("9")
    def test_messages_go_by_when_they_came_in(self, database: Database) -> None:
        """A conversation of long ago that was brought in today is kept from today."""
        with database.begin() as tx:
            ago = [Message(Role.USER, "of long ago", at=later(-99_999))]
            tx.messages.add(ANN, "c", ago, later(10), "t1")
            tx.messages.add(ANN, "c", [Message(Role.USER, "new", at=later(99))], NOW, "t2")
            assert tx.messages.remove(ANN, kept_before=later(10)) == 1
            assert [one.content for one in tx.messages.since(ANN, "c", 0)] == ["of long ago"]

    def test_a_verdict_counts_once(self, database: Database) -> None:
        said = Feedback(trace="t", item="1", verdict=Verdict.USEFUL, at=NOW)
        more = [replace(said, trace="t2"), replace(said, verdict=Verdict.WRONG_MENTION)]
        with database.begin() as tx:
            assert tx.feedback.add(ANN, said)
            assert not tx.feedback.add(ANN, replace(said, at=later(1)))
            assert [tx.feedback.add(ANN, one) for one in more] == [True, True]
            assert tx.feedback.add(BO, said)
        with database.read() as tx:
            assert tx.feedback.of(ANN, "1") == [said, *more]
            assert tx.feedback.of(BO, "1") == [said]
            assert tx.feedback.of(ANN, "2") == []

    @pytest.mark.spec("5", "9")
    def test_a_job_that_is_over_keeps_no_words(self, database: Database) -> None:
        def one(job: Job) -> Job:
            with database.read() as tx:
                return next(j for j in tx.jobs.of(job.scope, job.trace) if j.id == job.id)

        with database.begin() as tx:
            for key in ("done", "dead", "waits"):
                said = promise(ANN, key, payload={"text": "见面", "id": key}, ordered=False)
                tx.jobs.promise(said, NOW)
            tx.jobs.promise(promise(BO, "done"), NOW)
        with database.begin() as tx:
            done, dead, waits, theirs = (
                tx.jobs.claim(NOW, 10, list(JobType)) or pytest.fail("there must be one")
                for _ in range(4)
            )
            tx.jobs.finish(done, {}, NOW, without=["text", "unknown"])
            tx.jobs.bury(dead, "x", NOW)
            tx.jobs.postpone(waits, "x", NOW, NOW)
            tx.jobs.finish(theirs, {}, NOW)
        assert one(done).payload == {"id": "done"}
        assert one(dead).payload == {"id": "dead", "text": "见面"}
        with database.begin() as tx:
            assert tx.jobs.strip(ANN, ["text"]) == 1
            assert tx.jobs.strip(ANN, ["text"]) == 0
        assert one(dead).payload == {"id": "dead"}
        assert (one(waits).payload, one(theirs).payload["text"]) == (
            {"id": "waits", "text": "见面"}, theirs.payload["text"],
        )  # fmt: skip

    @pytest.mark.spec("5")
    def test_what_disagrees_is_found_and_what_is_being_mended_is_not(
        self, database: Database
    ) -> None:
        """STO-01, the check: rows without terms or vectors, and those without a row."""
        entries = {ref: [VectorEntry(ref=ref, vectors=unit(1, 0))] for ref in ("1", "9")}

        def whole(tx: Transaction) -> None:
            """A memory and a message that are found in every way."""
            synced = VectorStatus.SYNCED
            tx.items.add(memory(ANN, "Likes tea", id="1", vector_status=synced))
            (said,) = tx.messages.add(ANN, "c", [Message(Role.USER, "hi")], NOW, "t")
            for corpus, ref in ((Corpus.MEMORIES, "1"), (Corpus.EPISODES, str(said.seq))):
                tx.fulltext.index(ANN, corpus, {ref: ["tea"]})
                entry = VectorEntry(ref=ref, vectors=unit(1, 0))
                tx.vectors.write(ANN, corpus, "m", [entry])
            tx.messages.add(ANN, "c", [Message(Role.TOOL, "42"), Message(Role.USER, "")], NOW, "t2")

        def faults(tx: Transaction) -> dict[str, Callable[[], object]]:
            memories, said = Corpus.MEMORIES, Corpus.EPISODES
            (spoken,) = tx.vectors.refs(ANN, said)
            return {
                "no terms": lambda: tx.fulltext.remove(ANN, memories, ["1"]),
                "no vector": lambda: tx.vectors.remove(ANN, memories, ["1"]),
                "pending": lambda: tx.items.mark_vectors(ANN, ["1"], VectorStatus.PENDING),
                "terms of nobody": lambda: tx.fulltext.index(ANN, memories, {"9": []}),
                "vectors of nobody": lambda: tx.vectors.write(ANN, memories, "old", entries["9"]),
                "message, no terms": lambda: tx.fulltext.remove(ANN, said, [spoken]),
                "message, no vector": lambda: tx.vectors.remove(ANN, said, [spoken]),
                "terms of no message": lambda: tx.fulltext.index(ANN, said, {"99": []}),
                "vectors of no message": lambda: tx.vectors.write(ANN, said, "m", entries["9"]),
            }

        def found(
            tx: Transaction, model: str | None = "m", *, episodes: bool = True
        ) -> list[Scope]:
            return tx.owners.unfindable("default", model=model, episodes=episodes)

        with database.begin() as tx:
            whole(tx)
            assert found(tx) == found(tx, None) == []
            assert found(tx, "another model") == [ANN]
            names = list(faults(tx))

        def look(name: str) -> None:
            with database.begin() as tx:
                faults(tx)[name]()
                assert found(tx) == [ANN], name
                if "no vector" in name or name == "pending":
                    assert found(tx, None) == [], name
                if name.startswith("message"):
                    assert found(tx, episodes=False) == [], name
                assert tx.owners.unfindable("other", model="m", episodes=True) == []
                tx.jobs.promise(promise(ANN, "k", type=JobType.EMBED), NOW)
                assert found(tx) == [], name
                job = tx.jobs.claim(NOW, 10, [JobType.EMBED])
                assert job is not None
                assert found(tx) == [], name
                tx.jobs.bury(job, "x", NOW)
                assert found(tx) == [ANN], name
                raise KeyboardInterrupt  # as if nothing had happened

        for name in names:
            with pytest.raises(KeyboardInterrupt):
                look(name)
