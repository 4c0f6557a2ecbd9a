"""The front door: capture what was said, recall what matters, look after what is known."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from perdure import settings as deployment
from perdure.control.audit import Audit
from perdure.control.costs import Costs
from perdure.control.export import export_lines
from perdure.control.imported import Imported
from perdure.control.items import Items
from perdure.control.metrics import Metrics
from perdure.control.preferences import UserPreferences
from perdure.control.receipts import receipt
from perdure.control.transfer import Importer
from perdure.errors import DatabaseUnavailable, Misconfigured, Rejected, Unavailable
from perdure.learn.capture import capture
from perdure.observe import span
from perdure.policy import Policy
from perdure.ports import Also, Joining, Transaction
from perdure.settings import Settings
from perdure.types import (
    MAX_USER,
    Answer,
    Consolidation,
    ConversationKind,
    Erasure,
    Findings,
    MemoryItem,
    Message,
    Mode,
    Outcome,
    Receipt,
    Scope,
    Trace,
    Turn,
    Undone,
    Verdict,
    identifier,
    meant,
    one_of,
    sought,
)
from perdure.wiring import Parts, wire

_WAIT_STEP_S = 0.02  # how often `wait` looks again


class Memory:
    """A long-term memory, blocking. Open it once and share it between threads.

    >>> with Memory.open() as memory:  # doctest: +SKIP
    ...     memory.capture(Scope(user="ann"), "chat-1", [Message("user", "I moved to Bergen.")])
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.items: Items = parts.items
        self.preferences: UserPreferences = parts.preferences
        self.audit: Audit = parts.audit
        self.costs: Costs = parts.costs
        self.metrics: Metrics = parts.metrics

    @classmethod
    def open(
        cls,
        where: str | Path | None = None,
        *,
        preset: str | None = None,
        settings: Settings | None = None,
        workers: bool = True,
        patient: bool = False,
    ) -> Self:
        """Open a memory and start learning in the background.

        Args:
            where: a database URL, the path of a SQLite file, or the path of a desktop file, which
                ends in .json and is for one person with the preset ``desktop``. None takes
                ``PERDURE_DATABASE_URL`` or ``sqlite:///perdure.db``.
            preset: ``assistant``, ``team`` or ``desktop``; None takes ``PERDURE_PRESET``.
            settings: all settings at once, instead of the environment and perdure.toml.
            workers: False starts no threads; jobs wait for another process.
            patient: a database server that does not answer is no reason not to open; what needs it
                fails until it does.

        Raises:
            Misconfigured: a setting is unknown or cannot work; the error names it.
            Corrupt: the file is no database; it was left alone.
            DatabaseUnavailable: the database does not answer.
        """
        url = None if where is None else _url(where)
        if settings is None:
            settings = deployment.load(preset=preset, database_url=url)
        elif url is not None:
            settings = settings.but(database_url=url)
        memory = cls(wire(settings, patient=patient))
        if workers and settings.workers:
            try:
                memory.start()
            except Misconfigured:
                memory.close()
                raise
        return memory

    def start(self) -> None:
        """Start the background threads; once.

        Raises:
            Misconfigured: the embedder's vectors do not go with those that are stored.
        """
        if not self._threads:
            self._parts.check()
            self._threads = [
                threading.Thread(target=task, args=(self._stop,), name=name, daemon=True)
                for name, task in self._parts.background()
            ]
            for thread in self._threads:
                thread.start()

    def close(self, timeout: float = 10.0) -> None:
        """Stop the background and give everything back; jobs that wait are kept.

        Args:
            timeout: seconds to let running jobs end; one that takes longer is handed back and
                runs again in another process.
        """
        self._stop.set()
        self._parts.notify()
        until = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in self._threads):
            with suppress(Unavailable):
                self._parts.worker.let_go()
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def parts(self) -> Parts:
        """The running parts, for a service or a command built around this memory."""
        return self._parts

    # ── what assistants do ───────────────────────────────────────────────────────────────────────

    def capture(
        self,
        scope: Scope,
        conversation: str,
        messages: Sequence[Message],
        *,
        mode: Mode | str = Mode.ON,
        outcome: Outcome | str = Outcome.COMPLETED,
        kind: ConversationKind | str = ConversationKind.MAIN,
        policy: Policy | None = None,
        connection: Any = None,
        also: Also | None = None,
    ) -> Receipt:
        """Keep a finished turn and promise to learn from it, in one commit.

        Args:
            scope: whose turn it is, and where it took place.
            conversation: the host's id of the conversation.
            messages: the new messages, oldest first; give them ids and a redelivery is harmless.
            mode: what memory may do with this turn.
            outcome: how the task ended; only ``completed`` is learnt from.
            kind: what sort of conversation it is.
            policy: other numbers for this call.
            connection: an open connection of `engine`, or of an engine like it. All is then written
                in the host's own transaction, and kept or not as that ends. Workers are called
                when it commits, where that can be seen; they look by themselves, too.
            also: called with our own unit of work and the receipt before that is committed; what it
                raises takes the turn back. A host with a connection has its own ways.

        Returns:
            A receipt; `wait` or `receipt` tell later what became of it.

        Raises:
            Rejected: something in the turn cannot be meant; the error names the field.
            Contended: it lost to another transaction every time, or once with a ``connection``:
                only the host can do its own transaction again. Nothing was kept.
            DatabaseUnavailable: it could not be kept.
        """
        meant(scope)
        if isinstance(messages, Message | str) or not isinstance(messages, Iterable):
            raise Rejected("Expected a list of messages.", field="messages")
        turn = Turn(
            conversation=conversation,
            messages=tuple(messages),
            mode=one_of(Mode, mode, "mode"),
            outcome=one_of(Outcome, outcome, "outcome"),
            kind=one_of(ConversationKind, kind, "kind"),
        )
        parts = self._parts
        policy = _numbers(policy) or parts.policy_of(meant(scope).namespace)

        def keep(tx: Transaction) -> Receipt:
            taken = capture(tx, scope, turn, policy, parts.switches, parts.clock())
            if also is not None and connection is None:
                also(tx, taken)
            return taken

        if connection is not None:
            with self._joining.joined(connection, parts.notify, scope) as tx:
                taken = keep(tx)
            self._count(taken)
            return taken
        with span("memory capture"):
            taken = parts.database.run(keep, scope)
        self._count(taken)
        if not taken.state.final:
            parts.notify()
        return taken

    def _count(self, taken: Receipt) -> None:
        reason = "" if taken.reason is None else taken.reason.value
        meter = self._parts.meter.within(taken.scope.namespace)
        meter.count("captures", state=taken.state.value, reason=reason)

    @property
    def engine(self) -> Any:
        """SQLAlchemy's engine on the same database, for the host's own tables.

        A transaction on one of its connections can be given to `capture`. Closed with the memory.

        Raises:
            Rejected: memories are in a file that is no database.
        """
        return self._joining.engine

    @property
    def _joining(self) -> Joining:
        if not isinstance(self._parts.database, Joining):
            raise Rejected("This store has no connection to share.", field="connection")
        return self._parts.database

    def receipt(self, scope: Scope, trace: Trace) -> Receipt:
        """What became of a captured turn.

        Raises:
            NotFound: this user has no such capture.
        """
        with self._parts.database.read() as tx:
            return receipt(tx, meant(scope), sought(trace, "trace"))

    def wait(self, taken: Receipt, timeout: float = 60.0) -> Receipt:
        """Wait until learning from a turn has ended, one way or the other.

        Args:
            taken: the receipt that `capture` gave.
            timeout: seconds to wait.

        Returns:
            The receipt as it is then; its state tells whether the end was reached in time.
        """
        until = time.monotonic() + timeout
        while not taken.state.final and time.monotonic() < until:
            time.sleep(_WAIT_STEP_S)
            with suppress(DatabaseUnavailable):
                taken = self.receipt(taken.scope, taken.trace)
        return taken

    def recall(
        self,
        scope: Scope,
        question: str | Sequence[Message],
        *,
        policy: Policy | None = None,
        mode: Mode | str = Mode.ON,
        as_of: datetime | None = None,
        explain: bool = False,
    ) -> Answer:
        """The few memories that matter for the next message, as text, with reasons.

        Args:
            scope: who asks, and where.
            question: the next message, or the conversation that ends with it.
            policy: other numbers for this call.
            mode: what memory may do in this conversation.
            as_of: answer with what was believed then, as far as the history tells. What a person
                has deleted or dismissed since is not said, whatever the time.
            explain: fill ``considered`` with the way of each memory that was considered, and
                tell in ``dropped`` what no arm found, and what only a dismissal or a binding to
                another place keeps from being said; ``answer.table()`` prints it.

        Returns:
            An answer; its text is empty when nothing matters or memory may not be read. A part
            that fails is named in ``degraded``; it is never an exception.

        Raises:
            Rejected: the question or the time cannot be meant; the error names the field.
        """
        parts = self._parts
        namespace = meant(scope).namespace
        given = _numbers(policy)
        known, fresh = (given, True) if given else parts.runtime.known(namespace)
        with span("memory recall"):
            answer = parts.recaller.answer(
                scope, question, policy=known, at=parts.clock(), mode=one_of(Mode, mode, "mode"),
                as_of=as_of, explain=explain,
                newer=None if fresh else lambda: parts.policy_of(namespace),
            )  # fmt: skip
        said = [kept.item.id for kept in answer.kept]
        parts.uses.note(scope, answer.trace, said, counts=as_of is None)
        return answer

    def search(
        self,
        scope: Scope,
        query: str | Sequence[Message],
        limit: int = 10,
        *,
        arms: Sequence[str] = ("semantic", "fulltext"),
        policy: Policy | None = None,
        as_of: datetime | None = None,
        floor: float = 0.0,
    ) -> Findings:
        """Ranked hits before gate and budget, best first, and what kept it from finding more.

        Args:
            scope: whose memories or conversations are searched.
            query: what to look for, or the conversation that ends with it.
            limit: how many hits at most, at least 1.
            arms: ``semantic`` and ``fulltext`` search memories, ``episodes`` what was said.
            policy: other numbers for this call.
            as_of: search what was believed and said by then.
            floor: hits with a lower score, 0..1, are left out.

        Raises:
            Rejected: a value cannot be meant; the error names the field.
            Unavailable: every arm failed.
        """
        parts = self._parts
        return parts.recaller.search(
            scope, query, limit=limit, arms=arms,
            policy=_numbers(policy) or parts.policy_of(meant(scope).namespace), at=parts.clock(),
            as_of=as_of, floor=floor,
        )  # fmt: skip

    def feedback(
        self,
        scope: Scope,
        trace: Trace,
        item: str,
        verdict: Verdict | str,
        *,
        text: str | None = None,
    ) -> MemoryItem:
        """Keep what a user says about a memory of an answer.

        Args:
            scope: whose memory it is.
            trace: of the answer that said it.
            item: id of the memory.
            verdict: ``useful``, ``wrong_mention`` (it did not belong there), or ``correction``.
            text: with a correction, what is true. It replaces what the memory says, outranks what
                was learnt, and no machine changes it.

        Returns:
            The memory as it is now. After a correction that is the one that says it, which is
            another than ``item`` where another said it already.

        Raises:
            Rejected: the verdict or the text cannot be meant; the error names the field.
            NotFound: this user has no such memory, or no answer of that trace said it. The newest
                answers of each user are known (``item.judged_answers``), in other processes a
                second later.
        """
        return self._parts.verdicts.give(scope, trace, item, verdict, text)

    # ── tidying up ───────────────────────────────────────────────────────────────────────────────

    def consolidate(
        self, scope: Scope, *, dry_run: bool = False, by: str | None = None
    ) -> Consolidation:
        """Merge and drop machine-written memories that say the same; it also happens by itself.

        Args:
            scope: whose memories; a binding leaves only what is bound to it.
            dry_run: change nothing, and tell what would be done.
            by: who asked for it, as the audit keeps it.

        Returns:
            What was merged, dropped and spared, with the run's id for `undo`.

        Raises:
            Misconfigured: there is no model.
            DatabaseUnavailable: the database does not answer.
        """
        done = self._parts.consolidator.run(meant(scope), dry_run=dry_run, by=by)
        self._parts.notify()
        return done

    def undo(self, scope: Scope, run: str) -> Undone:
        """Bring back what a run of `consolidate` merged or dropped.

        Raises:
            NotFound: this user has no such run, it changed nothing, or it was taken back already.
            Rejected: it was too long ago.
            LimitReached: no further active memory fits.
        """
        return self._parts.undo.take_back(meant(scope), sought(run, "run"))

    # ── a person's right to be forgotten ─────────────────────────────────────────────────────────

    def erase(self, scope: Scope, *, by: str = "user") -> Erasure:
        """Remove everything of a user, for good: rows, vectors, messages, jobs, history, switches.

        It answers for everything up to its end: jobs of the user that run now end without writing,
        what the user says meanwhile goes as well, and what somebody began to write or import before
        is refused. What is added afterwards is new. A process that ends in between loses nothing: a
        worker goes on, or the next call.

        Args:
            scope: the user; it may bind nothing, since nobody is erased in part.
            by: who asked for it, as the receipt keeps it.

        Returns:
            The receipt: how much went from where, and what a search of every place finds now.

        Raises:
            Rejected: the scope names more than a user.
            DatabaseUnavailable: the database does not answer. What was begun goes on by itself.
        """
        erased = self._parts.eraser.erase(meant(scope), by)
        self._parts.recaller.forget(scope)
        return erased

    def erasure(self, scope: Scope) -> Erasure:
        """The receipt of a user's last erasure, and what a search of every place finds now.

        Raises:
            NotFound: this user was never erased.
            Rejected: the scope names more than a user.
        """
        return self._parts.eraser.look(meant(scope))

    # ── moving in and out ────────────────────────────────────────────────────────────────────────

    def export(self, scope: Scope) -> Iterator[Mapping[str, Any]]:
        """Everything that is known of a user, a line at a time: messages, memories, history."""
        return export_lines(self._parts.database, meant(scope))

    def import_lines(
        self,
        scope: Scope,
        lines: Iterable[Mapping[str, Any]],
        *,
        dry_run: bool = False,
        by: str = "user",
    ) -> Iterator[Imported]:
        """Take lines in, one report a line: conversations are captured, memories restored.

        What is there already stays as it is, so that the same lines again change nothing.

        Args:
            scope: whose they are; messages that name no place were said where it says.
            lines: as `export` gives them, or messages of another source.
            dry_run: change nothing, and report what would become of each line.
            by: who hands them in, as the audit keeps it beside a history that comes with them.

        Raises:
            Rejected: a line cannot be meant; the error names line and field.
            Erased: the user was erased since this began; nothing more is taken in.
        """
        parts = self._parts
        importer = Importer(
            database=parts.database,
            policy=parts.policy_of(meant(scope).namespace),
            capture=self.capture,
            clock=parts.clock,
            began=parts.clock(),
            by=identifier(by, "by", MAX_USER),
            dry_run=dry_run,
        )
        return importer.take(scope, lines)


def _url(where: str | Path) -> str:
    """A database URL of what a person wrote.

    Raises:
        Misconfigured: it is neither a text nor a path.
    """
    if not isinstance(where, str | Path):
        raise Misconfigured("Expected a text.", field="where")
    text = str(where)
    return text if "://" in text or text.endswith(".json") else f"sqlite:///{text}"


def _numbers(policy: Policy | None) -> Policy | None:
    """The numbers that a caller gave for one call; None: those that hold anyway.

    Raises:
        Rejected: they are no policy.
    """
    if policy is not None and not isinstance(policy, Policy):
        raise Rejected("Expected a Policy.", field="policy")
    return policy
