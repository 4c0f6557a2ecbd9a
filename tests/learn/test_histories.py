"""Random histories: whatever happens in whatever order, what a person decided stands."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from perdure.control.cleanup import Cleaner
from perdure.errors import Duplicate, Fenced, LimitReached, NotFound, Rejected
from perdure.policy import ASSISTANT
from perdure.ports import ItemFilter
from perdure.testing.fakes import ScriptedChat, WordEmbedder
from perdure.types import (
    JobType,
    Message,
    Role,
    Scope,
    Status,
)

ANN = Scope(user="ann")
LIMIT = 5
CONTENTS = (
    "Likes strong tea", "Likes green tea", "Likes strong green tea", "Owns a red kayak",
    "Plays the old cello", "Dislikes strong tea", "喜欢喝绿茶", "喜欢喝茶", "住在杭州西湖边",
)  # fmt: skip
EVERYTHING = ItemFilter(statuses=frozenset(Status))
HISTORIES = 20
STEPS = 25

contents = st.sampled_from(CONTENTS)
places = st.integers(0, 30)
numbers = st.integers(0, LIMIT + 1)
actions = st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE", "TOUCH", "?"])
operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["merge", "keep", "drop", "?"]),
         "memories": st.lists(numbers, min_size=1, max_size=3),
         "content": contents}
    ),
    max_size=3,
)  # fmt: skip


class Histories(RuleBasedStateMachine):
    """One user, one database, one model that proposes anything at all."""

    worlds: Any = None

    def __init__(self):
        super().__init__()
        self.world = self.worlds()
        self.world.embedder = WordEmbedder(while_open=lambda: self.world.database.open > 0)
        self.world.policy = replace(
            ASSISTANT,
            capacity=ASSISTANT.capacity.but(active_limit=LIMIT),
            consolidate=ASSISTANT.consolidate.but(active_over=3, cooldown_s=600),
        )
        self.turns = 0
        self.told = []  # every turn that was said, to be fed again
        self.gone = {}  # contents that a person deleted, and when
        self.runs = []

    # ── what is there ────────────────────────────────────────────────────────────────────────────

    def rows(self):
        with self.world.database.read() as tx:
            return {row.id: row for row in tx.items.every(ANN, EVERYTHING)}

    def entries(self):
        with self.world.database.read() as tx:
            return tx.audit.every(ANN)

    def pick(self, place, *statuses):
        found = [row for row in self.rows().values() if row.status in statuses]
        found.sort(key=lambda row: row.id)
        return found[place % len(found)] if found else None

    def machine(self, step, said=None, at=None):
        """Do something that a machine does, and hold it against what a person decided."""
        before, written = self.rows(), len(self.entries())
        step()
        after, entries = self.rows(), self.entries()[written:]
        for row in before.values():
            now = after.get(row.id)
            if row.protected and row.status is not Status.DELETED:
                assert now is not None, f"{row.content} is gone"
                # Its time may be up, and what was set aside or over may be said again.
                over = row.status is Status.ACTIVE and row.expired(self.world.now)
                again = row.content == said and (over or row.status is Status.ARCHIVED)
                status = now.status if over or again else row.status
                ends = now.expires_at if again and row.expired(self.world.now) else row.expires_at
                stays = replace(row, status=status, expires_at=ends, updated_at=now.updated_at)
                assert now == stays
            if row.status is Status.DISMISSED:
                assert now is not None
                assert now.status is Status.DISMISSED
        for row in after.values():
            known = before.get(row.id)
            if row.status is Status.ACTIVE and row.content in self.gone:
                was_there = known is not None and known.status is Status.ACTIVE
                said_later = at is not None and at > self.gone[row.content]
                assert was_there or said_later, f"{row.content} came back"
        self.audited(before, after, entries)

    def person(self, step):
        """Do something that a person does; what cannot be done changes nothing."""
        before, written = self.rows(), len(self.entries())
        try:
            step()
        except (Duplicate, LimitReached, NotFound, Rejected):
            assert self.rows() == before
        self.audited(before, self.rows(), self.entries()[written:])

    def audited(self, before, after, entries):
        """Every change has its entry."""
        noted = {entry.item for entry in entries}
        for item in before.keys() | after.keys():
            old, new = before.get(item), after.get(item)
            if old is not None and old.status is Status.DELETED and new is None:
                continue  # it was noted when it was deleted; now its words are another row's
            if old is None or new is None or _said(old) != _said(new):
                assert item in noted, f"nobody noted what happened to {old or new}"
        assert all(entry.before or entry.after for entry in entries)

    # ── learning ─────────────────────────────────────────────────────────────────────────────────

    def answers(self, content, action, number, reworded, **more):
        def reply(question):
            if question.purpose == "extract":
                return {"memories": [{"content": content, "lines": [1], **more}]}
            return {"decisions": [
                {"statement": 1, "action": action, "memory": number, "content": reworded},
                {"statement": 1, "action": "DELETE", "memory": number - 1},
            ]}  # fmt: skip

        chat = ScriptedChat(rule=reply, while_open=lambda: self.world.database.open > 0)
        self.world.chat = chat

    def turn(self, content):
        self.turns += 1
        said = content if content.isascii() else f"我想说{content[-2:]}"
        words = f"Well, {said.split()[-1]} it is." if said.isascii() else said
        at = self.world.clock()
        message = Message(Role.USER, words, id=f"m{self.turns}", at=at)
        self.told.append((content, message))
        return message

    @rule(content=contents, action=actions, number=numbers, reworded=contents, ends=st.booleans())
    def learn(self, content, action, number, reworded, ends):
        message = self.turn(content)
        hour = (message.at + timedelta(hours=1)).isoformat()
        plan = {"kind": "todo_hint", "expires_at": hour} if ends else {}
        self.answers(content, action, number, reworded, **plan)
        self.machine(
            lambda: self.world.says(message, conversation=f"c{self.turns}"), content, message.at
        )
        self.forgive(message.at)

    def forgive(self, at):
        """What was said after its deletion, and is there again, is no longer gone."""
        active = {row.content for row in self.rows().values() if row.status is Status.ACTIVE}
        for content in [c for c, when in self.gone.items() if c in active and at > when]:
            del self.gone[content]

    @rule(place=places)
    def feed_again(self, place):
        """An old transcript comes in as a new conversation, or the same turn once more."""
        if not self.told:
            return
        content, message = self.told[place % len(self.told)]
        self.answers(content, "ADD", 1, content)
        self.machine(
            lambda: self.world.says(message, conversation=f"again {self.turns} {place}"),
            content, message.at,
        )  # fmt: skip
        self.forgive(message.at)

    @rule(content=contents)
    def deliver_twice(self, content):
        """The same turn twice is one turn, and its job done twice is done once."""
        message = self.turn(content)
        self.answers(content, "NONE", 1, content)
        name = f"twice {self.turns}"
        self.machine(lambda: self.world.says(message, conversation=name), content, message.at)
        self.forgive(message.at)
        once, written = self.rows(), len(self.entries())

        self.world.says(message, conversation=name)

        assert self.rows() == once
        assert len(self.entries()) == written

    @rule(content=contents, action=actions, number=numbers)
    def crash(self, content, action, number):
        """The worker dies between writing and its commit; another one does the job anew."""
        message = self.turn(content)
        self.answers(content, action, number, content)
        self.world.capture(message, conversation=f"crash {self.turns}")
        before, written = self.rows(), len(self.entries())
        job = self.world._claim(JobType.EXTRACT)
        effect = self.world.learner(job)

        with suppress(KeyboardInterrupt), self.world.database.begin() as tx:
            effect(tx)
            raise KeyboardInterrupt
        assert self.rows() == before
        assert len(self.entries()) == written

        self.world.now += timedelta(minutes=2)  # its lease runs out
        self.machine(self.world.learn, content, message.at)
        self.forgive(message.at)
        after = self.rows()
        with suppress(Fenced), self.world.database.begin() as tx:
            effect(tx)
            tx.jobs.finish(job, {}, self.world.clock())
        assert self.rows() == after, "the late worker was not fenced out"

    # ── a person's hand ──────────────────────────────────────────────────────────────────────────

    @rule(content=contents)
    def add(self, content):
        self.person(lambda: self.world.items.add(ANN, content))
        self.regained()

    @rule(place=places, content=contents)
    def edit(self, place, content):
        row = self.pick(place, Status.ACTIVE, Status.ARCHIVED, Status.DISMISSED)
        if row is not None:
            self.person(lambda: self.world.items.edit(ANN, row.id, content=content))
            self.regained()

    @rule(place=places)
    def dismiss(self, place):
        row = self.pick(place, Status.ACTIVE, Status.ARCHIVED)
        if row is not None:
            self.person(lambda: self.world.items.dismiss(ANN, row.id))

    @rule(place=places)
    def restore(self, place):
        row = self.pick(place, Status.DISMISSED, Status.ARCHIVED, Status.DELETED)
        if row is not None:
            self.person(lambda: self.world.items.restore(ANN, row.id))
            self.regained()

    @rule(place=places)
    def delete(self, place):
        row = self.pick(place, Status.ACTIVE, Status.ARCHIVED, Status.DISMISSED)
        if row is not None:
            self.person(lambda: self.world.items.delete(ANN, row.id))
            self.gone[row.content] = self.world.now

    def regained(self):
        """What a person brought back is no longer gone."""
        active = {row.content for row in self.rows().values() if row.status is Status.ACTIVE}
        self.gone = {c: when for c, when in self.gone.items() if c not in active}

    # ── time, tidying up ─────────────────────────────────────────────────────────────────────────

    @rule(minutes=st.integers(1, 90))
    def time_passes(self, minutes):
        """What expired is archived by the cleaner."""
        self.world.now += timedelta(minutes=minutes)
        cleaner = Cleaner(
            database=self.world.database,
            index=None,
            policy_of=lambda _: self.world.policy,
            clock=self.world.clock,
            meter=self.world.meter,
        )
        at = self.world.clock()

        def clean():
            with self.world.database.begin() as tx:
                for promise in cleaner.due(at, at.toordinal() * 100_000 + at.hour * 60 + at.minute):
                    tx.jobs.promise(promise, at)
            self.world.keep(JobType.CLEANUP, cleaner)

        self.machine(clean)
        for row in self.rows().values():
            assert not (row.status is Status.ACTIVE and row.expired(at))

    @rule(proposed=operations)
    def tidy(self, proposed):
        """The jobs that learning promised, if any."""
        self.world.chat = ScriptedChat(rule=lambda _: {"operations": proposed})
        self.machine(self.world.tidy)

    @rule(proposed=operations)
    def consolidate(self, proposed):
        self.world.chat = ScriptedChat(rule=lambda _: {"operations": proposed})
        before = self.rows()
        preview = self.world.consolidator.run(ANN, dry_run=True)
        assert self.rows() == before

        def run():
            done = self.world.consolidator.run(ANN, dry_run=False)
            self.runs.append(done.run)
            assert len(done.merges) <= len(preview.merges)

        self.machine(run)

    @rule(place=places)
    def undo(self, place):
        if self.runs:
            run = self.runs[place % len(self.runs)]
            before = self.rows()
            self.person(lambda: self.world.undo.take_back(ANN, run))
            back = [row for item, row in self.rows().items() if item not in before]
            assert all(row.content not in self.gone for row in back)

    # ── always ───────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def no_more_are_active_than_fit(self):
        active = [row for row in self.rows().values() if row.status is Status.ACTIVE]
        assert len(active) <= LIMIT

    @invariant()
    def each_statement_stands_once(self):
        hashes = [row.content_hash for row in self.rows().values()]
        assert len(set(hashes)) == len(hashes)


def _said(row):
    return row.content, row.status


@pytest.mark.case("DED-09", "STO-05")
@pytest.mark.spec("3.4", "3.5", "3.6", "3.7", "9")
def test_no_history_undoes_what_a_person_decided(worlds):
    """Protected rows stay, what was refused or deleted stays away, and every change is noted."""

    class InThisFolder(Histories):
        pass

    InThisFolder.worlds = staticmethod(worlds)
    run_state_machine_as_test(
        InThisFolder,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=(Phase.generate,),  # to shrink a history takes minutes; it is short enough
            suppress_health_check=list(HealthCheck),
        ),
    )
