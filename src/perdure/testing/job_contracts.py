"""What every table of promises must do; see `contracts`."""

from __future__ import annotations

from datetime import datetime

import pytest

from perdure.errors import Fenced
from perdure.ports import Database
from perdure.testing.samples import ANN, BO, NOW, later, promise
from perdure.types import Job, JobState, JobType

TYPES = frozenset(JobType)


class JobStoreContract:
    """Promises: asked twice is asked once, one holder, in order, never lost, never for ever."""

    def claimed(self, database: Database, at: float = 0, types: frozenset[JobType] = TYPES) -> Job:
        """The next job, which there must be."""
        job = self.claim(database, at, types)
        assert job is not None
        return job

    def claim(
        self, database: Database, at: float = 0, types: frozenset[JobType] = TYPES
    ) -> Job | None:
        """The next job, on a lease of ten seconds."""
        with database.begin() as tx:
            return tx.jobs.claim(later(at), 10, types)

    def one(self, database: Database, job: Job) -> Job:
        """The job as it stands now."""
        with database.read() as tx:
            return next(j for j in tx.jobs.of(job.scope, job.trace) if j.id == job.id)

    @pytest.mark.spec("5", "3.2")
    def test_asking_twice_is_asking_once(self, database: Database) -> None:
        """C 7.3.3: redelivery has no effect; a stranger's equal key is another promise."""
        with database.begin() as tx:
            first, new = tx.jobs.promise(promise(ANN, "k"), NOW)
            again, repeated = tx.jobs.promise(promise(ANN, "k", payload={}, trace="t2"), later(5))
            hers, other = tx.jobs.promise(promise(BO, "k"), NOW)
        assert (new, repeated, other) == (True, False, True)
        assert first == again
        assert hers.id != first.id
        with database.read() as tx:
            assert tx.jobs.of(ANN, "trace-k") == [first]
            assert tx.jobs.of(BO, "trace-k") == [hers]
            assert (tx.jobs.find(ANN, "k"), tx.jobs.find(BO, "k")) == (first, hers)
            assert tx.jobs.find(ANN, "other") is None

    def test_a_job_carries_everything_from_promise_to_result(self, database: Database) -> None:
        said = promise(ANN, "k", conversation="c", source_message="m", run_at=later(5))
        with database.begin() as tx:
            tx.jobs.promise(said, NOW)
        assert self.claim(database, 4.9) is None
        job = self.claimed(database, 5)
        assert (job.state, job.payload, job.conversation, job.source_message) == (
            JobState.PROCESSING, said.payload, "c", "m",
        )  # fmt: skip
        with database.begin() as tx:
            assert tx.jobs.postpone(job, "model_busy: " + "长" * 3_000, later(6), later(5))
        job = self.claimed(database, 6)
        assert (job.retry_count, len(job.last_error or "")) == (1, 2_000)
        with database.begin() as tx:
            tx.jobs.finish(job, {"learnt": ["名"]}, later(7))
        done = self.one(database, job)
        assert (done.state, done.result, done.token) == (JobState.SUCCESS, {"learnt": ["名"]}, None)
        assert (done.last_error, done.created_at, done.updated_at) == (None, NOW, later(7))

    @pytest.mark.spec("5")
    def test_a_user_s_jobs_run_in_order_and_one_at_a_time(self, database: Database) -> None:
        with database.begin() as tx:
            for key in ("1", "2", "3"):
                tx.jobs.promise(promise(ANN, key), NOW)
            tx.jobs.promise(promise(BO, "1"), later(1))
        first = self.claimed(database, 1)
        hers = self.claimed(database, 1)
        assert (first.key, first.user, hers.user) == ("1", "ann", "bo")
        assert self.claim(database, 1) is None
        with database.begin() as tx:
            tx.jobs.finish(hers, {}, later(1))
            tx.jobs.postpone(first, "x", later(60), later(1))
        assert self.claim(database, 59) is None  # the second waits for the retry of the first
        first = self.claimed(database, 60)
        with database.begin() as tx:
            tx.jobs.bury(first, "x", later(60))
        second = self.claimed(database, 60)
        assert second.key == "2"  # a dead job holds nobody up
        with database.begin() as tx:
            assert tx.jobs.retry([first.id], later(61)) == 1
        assert self.claim(database, 61) is None  # not beside the one that runs
        with database.begin() as tx:
            tx.jobs.finish(second, {}, later(61))
        first = self.claimed(database, 61)
        assert (first.key, first.retry_count) == ("1", 0)

    def test_what_was_written_as_done_is_found_and_taken_by_nobody(
        self, database: Database
    ) -> None:
        with database.begin() as tx:
            tx.jobs.settle(promise(ANN, "k"), {"outcome": "skipped"}, NOW)
        with database.read() as tx:
            (job,) = tx.jobs.of(ANN, "trace-k")
            assert (job.state, job.result) == (JobState.SUCCESS, {"outcome": "skipped"})
            assert tx.jobs.overdue(later(60), TYPES) is None
        assert self.claim(database, 60) is None
        with database.begin() as tx:
            assert tx.jobs.forget(later(60)) == 1

    def test_unordered_jobs_wait_for_nobody(self, database: Database) -> None:
        with database.begin() as tx:
            tx.jobs.promise(promise(ANN, "1"), NOW)
            for key in ("2", "3"):
                tx.jobs.promise(promise(ANN, key, ordered=False, type=JobType.EMBED), NOW)
            tx.jobs.promise(promise(ANN, "4"), NOW)
        assert [self.claimed(database).key for _ in range(3)] == ["1", "2", "3"]
        assert self.claim(database) is None

    def test_a_worker_takes_only_what_it_can_do(self, database: Database) -> None:
        with database.begin() as tx:
            tx.jobs.promise(promise(ANN, "1"), NOW)
            tx.jobs.promise(promise(ANN, "2", ordered=False, type=JobType.EMBED), NOW)
        assert self.claim(database, types=frozenset()) is None
        assert self.claimed(database, types=frozenset({JobType.EMBED})).key == "2"
        assert self.claim(database, types=frozenset({JobType.EMBED})) is None

    @pytest.mark.spec("5")
    @pytest.mark.case("STO-09")
    def test_a_dead_worker_s_job_is_taken_over_first_and_its_ghost_is_fenced(
        self, database: Database
    ) -> None:
        with database.begin() as tx:
            tx.jobs.promise(promise(BO, "backlog"), later(-60))
            tx.jobs.promise(promise(ANN, "1"), later(-61))
        ghost = self.claimed(database)
        with database.begin() as tx:
            assert tx.jobs.beat(ghost, later(12))
        assert self.claimed(database, 11).user == "bo"  # the heartbeat kept the lease
        job = self.claimed(database, 13)
        assert (job.id, job.retry_count) == (ghost.id, 1)

        def too_late() -> None:
            with database.begin() as tx:
                tx.jobs.finish(ghost, {}, later(14))

        with pytest.raises(Fenced):
            too_late()
        with database.begin() as tx:
            assert not tx.jobs.beat(ghost, later(99))
            assert not tx.jobs.postpone(ghost, "x", later(15), later(14))
            assert not tx.jobs.bury(ghost, "x", later(14))
            tx.jobs.finish(job, {"by": "the second"}, later(14))
        assert self.one(database, job).result == {"by": "the second"}

    @pytest.mark.case("STO-09")
    def test_a_job_that_kills_its_workers_ends_dead_with_its_cause(
        self, database: Database
    ) -> None:
        with database.begin() as tx:
            tx.jobs.promise(promise(ANN, "poison", max_retry=2), NOW)
            tx.jobs.promise(promise(ANN, "next"), NOW)
        deaths = [self.claimed(database, at) for at in (0, 11, 22)]
        assert [job.retry_count for job in deaths] == [0, 1, 2]
        assert self.claimed(database, 33).key == "next"
        dead = self.one(database, deaths[0])
        assert dead.state is JobState.DEAD
        assert "worker_lost" in (dead.last_error or "")
        with database.begin() as tx:
            assert tx.jobs.release(later(99)) == 1  # what "next" was held by
            assert tx.jobs.release(later(99)) == 0

    @pytest.mark.case("API-09")
    def test_waiting_for_a_busy_model_uses_up_no_try(self, database: Database) -> None:
        with database.begin() as tx:
            tx.jobs.promise(promise(ANN, "1"), NOW)
        for at in range(0, 200, 20):
            job = self.claimed(database, at)
            with database.begin() as tx:
                tx.jobs.postpone(job, "model_busy", later(at + 20), later(at), counts=False)
        assert self.claimed(database, 200).retry_count == 0

    def test_the_table_is_looked_after(self, database: Database) -> None:
        with database.begin() as tx:
            jobs = [tx.jobs.promise(promise(ANN, k, ordered=False), NOW)[0] for k in "abcd"]
        old, new, dead = (self.claimed(database) for _ in range(3))
        running = self.claimed(database)
        with database.begin() as tx:
            tx.jobs.finish(old, {}, later(1))
            tx.jobs.finish(new, {}, later(9))
            tx.jobs.bury(dead, "x", later(1))
        with database.begin() as tx:
            assert tx.jobs.depth(later(9)) == {
                JobState.SUCCESS: 2, JobState.DEAD: 1, JobState.PROCESSING: 1,
            }  # fmt: skip
            assert tx.jobs.forget(later(5)) == 1
            assert [j.id for j in tx.jobs.page([JobState.SUCCESS, JobState.DEAD])] == [
                dead.id, new.id,
            ]  # fmt: skip
            assert tx.jobs.page([]) == []
            assert [j.id for j in tx.jobs.page(list(JobState), limit=1, after=dead.id)] == [new.id]
            assert tx.jobs.retry([running.id, new.id], later(9)) == 0
            assert tx.jobs.drop([job.id for job in jobs]) == 2
            assert tx.jobs.beat(running, later(99))

    def test_what_nobody_takes_is_told_with_the_time_since_which_it_is_due(
        self, database: Database
    ) -> None:
        """Neither what is due later, nor what runs, nor what is over; but what its worker left."""

        def overdue(at: float, types: frozenset[JobType] = TYPES) -> datetime | None:
            with database.read() as tx:
                return tx.jobs.overdue(later(at), types)

        assert overdue(99) is None
        with database.begin() as tx:
            tx.jobs.promise(promise(ANN, "a", run_at=later(5)), NOW)
            tx.jobs.promise(promise(BO, "b", run_at=later(30)), NOW)
        assert [overdue(at) for at in (4, 5, 99)] == [None, later(5), later(5)]
        assert overdue(99, TYPES - {JobType.EXTRACT}) is None
        job = self.claimed(database, 10)
        assert [overdue(at) for at in (19, 20, 99)] == [None, later(20), later(20)]
        with database.begin() as tx:
            tx.jobs.bury(job, "x", later(12))
        assert [overdue(at) for at in (29, 99)] == [None, later(30)]

    def test_the_try_that_ended_last_says_what_it_failed_of(self, database: Database) -> None:
        def told(types: frozenset[JobType] = TYPES) -> str | None:
            with database.read() as tx:
                return tx.jobs.last_error(types)

        with database.begin() as tx:
            for key in "abc":
                tx.jobs.promise(promise(ANN, key, ordered=False), NOW)
        first, second = self.claimed(database), self.claimed(database)
        assert told() is None
        with database.begin() as tx:
            tx.jobs.postpone(first, "model_busy: x", later(50), later(1))
        assert (told(), told(TYPES - {JobType.EXTRACT})) == ("model_busy: x", None)
        with database.begin() as tx:
            tx.jobs.finish(second, {}, later(2))
        assert told() is None
        third = self.claimed(database, 3)
        with database.begin() as tx:
            tx.jobs.bury(third, "model_unavailable: y", later(4))
        assert told() == "model_unavailable: y"
