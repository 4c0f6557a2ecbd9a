"""What keeps a repeated request from having a second effect, and a stale one from having any."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, TypeVar

from fastapi import Depends, Header
from starlette.requests import Request
from starlette.responses import Response

from perdure import text
from perdure.control.hand import Hand
from perdure.control.items import Items
from perdure.errors import Rejected, RequestReused, RequestRunning, Stale, Unavailable
from perdure.memory import Memory
from perdure.ports import Also, Transaction
from perdure.serve.auth import Caller, Who
from perdure.serve.door import Door
from perdure.serve.replies import ItemOut
from perdure.serve.signed import Signature, Signed
from perdure.types import MAX_USER, Claimed, MemoryItem, Scope, identifier

T = TypeVar("T")
H = TypeVar("H", bound=Hand)

_FRESH_S = 60.0  # so long a request that was never answered keeps its key
_KEPT = timedelta(days=1)  # so long a key is known
_NOTHING = "-"  # what a request made that makes nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """One write, however often it is sent. What it made is kept, not what it said or answered."""

    memory: Memory
    who: Caller
    key: str | None
    """The client's own; None: the client does not care."""
    fingerprint: str
    response: Response
    signature: Signature

    def hand(self, hand: H, also: Also | None) -> H:
        """The same hand as the caller's own, whose changes write that too."""
        return replace(self.signature.on(hand), also=also)

    def serve(
        self,
        scope: Scope,
        do: Callable[[Also | None], T],
        *,
        ref: Callable[[T], str] = lambda _: _NOTHING,
        again: Callable[[str], T],
    ) -> T:
        """Do it, or tell how what it made is now.

        That it was done is kept in the commit of the write, so that a process which ends in
        between leaves both or neither; and only while the key is still this request's.

        Args:
            scope: whose request it is.
            do: the write, with what else is to be written in its commit.
            ref: what to keep of its result.
            again: the answer to a repetition, from what was kept.

        Raises:
            RequestReused: the key belongs to another request.
            RequestRunning: the same request is being served now.
        """
        if self.key is None:
            return do(None)
        key = identifier(self.key, "Idempotency-Key", MAX_USER)
        database, at = self.memory.parts.database, self.memory.parts.clock()

        def claim(tx: Transaction) -> Claimed | None:
            tx.requests.forget(at - _KEPT)
            return tx.requests.claim(scope, key, self.fingerprint, at, _FRESH_S)

        before = database.run(claim)
        if before is not None:
            if before.fingerprint != self.fingerprint:
                raise RequestReused(field="Idempotency-Key")
            if before.ref is None:
                raise RequestRunning(field="Idempotency-Key")
            return again(before.ref)

        def answered(tx: Transaction, done: T) -> None:
            if not tx.requests.answered(scope, key, at, ref(done)):
                raise RequestRunning(field="Idempotency-Key")  # by whoever took it over

        try:
            return do(answered)
        except BaseException:
            with suppress(Unavailable):
                database.run(lambda tx: tx.requests.release(scope, key, at))
            raise

    def item(self, scope: Scope, do: Callable[[Items], MemoryItem]) -> ItemOut:
        """The memory that a write by hand made or changed; a repetition tells how it is now."""
        return self.changed(scope, lambda also: do(self.hand(self.memory.items, also)))

    def changed(self, scope: Scope, do: Callable[[Also | None], MemoryItem]) -> ItemOut:
        """The same of any write that comes to a memory."""
        kept = self.serve(
            scope,
            do,
            ref=lambda done: done.id,
            again=lambda ident: self.memory.items.get(scope, ident),
        )
        return tagged(self.response, kept)


def tagged(response: Response, item: MemoryItem) -> ItemOut:
    """Say in the reply's ETag how the memory is now; uses do not move it."""
    response.headers["ETag"] = f'"{item.updated_at.isoformat()}"'
    return ItemOut.model_validate(item)


def _shown(
    wanted: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description="The `ETag` of the memory as it was shown; 412 if it was changed since.",
        ),
    ] = None,
) -> datetime | None:
    """When the memory that the client saw was changed last; None: whenever.

    Raises:
        Stale: it is no tag of ours, so nothing is as the client saw it.
        Rejected: there are several.
    """
    if wanted is None or wanted.strip() == "*":
        return None
    if "," in wanted:
        raise Rejected("Expected one ETag.", field="If-Match")
    try:
        at = datetime.fromisoformat(wanted.strip().strip('"'))
    except ValueError:
        raise Stale(field="If-Match") from None
    if at.tzinfo is None:
        raise Stale(field="If-Match")
    return at


Shown = Annotated[datetime | None, Depends(_shown)]
"""The state of the memory that the client means to change; None: whatever it is."""


async def _once(
    request: Request,
    response: Response,
    *,
    memory: Door,
    who: Who,
    signature: Signed,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="Makes sending this request again harmless, for a day.",
            examples=["5f0c7a1e-3d1b-4f0e-9b57-2f3c8a5d9e10"],
        ),
    ] = None,
) -> Once:
    fingerprint = ""
    if key is not None:
        url, when = request.url, request.headers.get("if-match", "")
        body = (await request.body()).hex()
        fingerprint = text.fingerprint(request.method, url.path, url.query, when, body)
    return Once(
        memory=memory, who=who, key=key, fingerprint=fingerprint, response=response,
        signature=signature,
    )  # fmt: skip


Write = Annotated[Once, Depends(_once)]
"""A write to one user's memories."""
