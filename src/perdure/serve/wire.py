"""What comes in over the wire: bodies and queries, checked before anything is done."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
)

from perdure import text
from perdure.errors import Rejected
from perdure.ports import ItemFilter
from perdure.types import (
    MAX_BINDING,
    ConversationKind,
    Kind,
    Level,
    Message,
    Mode,
    Outcome,
    Source,
    Status,
    Verdict,
    identifier,
    written,
)

MAX_LISTED = 1_000
"""Most entries of one list or search."""
BINDINGS = {
    "project": "project",
    "assistant_id": "assistant",
    "run_id": "run",
    "conversation_id": "conversation",
}
"""How the wire calls what a scope is bound to."""


def _cleaned(value: Any) -> Any:
    return text.clean(value) if isinstance(value, str) else value


def _written(value: Any) -> Any:
    """What is no time in anybody's eyes is none in pydantic's, which counts numbers from 1970."""
    return value if written(value) else ""


Text = Annotated[str, BeforeValidator(_cleaned)]
"""What people say: half an emoji becomes U+FFFD. Ids are taken exactly, or refused."""
Time = Annotated[AwareDatetime, BeforeValidator(_written), Field(examples=["2026-11-30T09:00:00Z"])]
"""ISO 8601 with a zone."""
Flag = Annotated[StrictBool | None, Field(description="Left alone where it is not given.")]


class Named(BaseModel):
    """Whose memories a request is about."""

    model_config = ConfigDict(extra="forbid")

    user_id: str | None = Field(
        default=None,
        description="An app key names a user here; a user token is bound to one.",
        examples=["ann"],
    )

    def bindings(self) -> dict[str, str | None]:
        """What the request binds its scope to, by the scope's own names."""
        known = type(self).model_fields
        return {ours: getattr(self, name) for name, ours in BINDINGS.items() if name in known}


class Placed(Named):
    """Whose memories, and where: what is given is applied, what is left out means anywhere."""

    project: str | None = Field(default=None, examples=["fjord-guide"])
    assistant_id: str | None = None
    run_id: str | None = None
    conversation_id: str | None = None


# ── memories ─────────────────────────────────────────────────────────────────────────────────────


class ListQuery(Named):
    """Which memories to list. Repeat a name to allow several values."""

    kind: list[Kind] | None = None
    level: Level | None = None
    project: str | None = Field(default=None, description="Only memories of this project.")
    status: list[Status] = Field(default=[Status.ACTIVE])
    source: list[Source] | None = None
    since: Time | None = Field(default=None, description="Changed at or after.")
    until: Time | None = Field(default=None, description="Changed before.")
    text: Text | None = Field(default=None, min_length=1, description="Words of the content.")
    metadata: list[str] | None = Field(
        default=None, description="`key=value`, compared exactly.", examples=[["theme=food"]]
    )
    limit: int = Field(default=50, ge=1, le=MAX_LISTED)
    after: str | None = Field(default=None, description="The cursor `next` of the page before.")

    def bindings(self) -> dict[str, str | None]:
        """None: here a project is a filter, not a place."""
        return {}

    def filter(self) -> ItemFilter:
        """The same as the core says it."""
        return ItemFilter(
            statuses=frozenset(self.status),
            kinds=None if self.kind is None else frozenset(self.kind),
            level=self.level,
            project=self.project,
            sources=None if self.source is None else frozenset(self.source),
            since=self.since,
            until=self.until,
            words=self.text,
            metadata=self.pairs(),
        )

    def pairs(self) -> dict[str, str]:
        """What the metadata must hold.

        Raises:
            Rejected: one is not written as ``key=value``, or a key is named twice.
        """
        found: dict[str, str] = {}
        for given in self.metadata or ():
            key, is_pair, value = given.partition("=")
            if not is_pair or key in found:
                raise Rejected("Expected key=value, each key once.", field="metadata")
            found[identifier(key, "metadata", MAX_BINDING)] = value
        return found


class ItemChange(Named):
    """What changes of a memory; what is left out stays."""

    content: Text | None = Field(default=None, examples=["Prefers tea without milk."])
    kind: Kind | None = None
    title: Text | None = None
    importance: StrictFloat | StrictInt | None = Field(default=None, description="0 to 1.")
    sensitivity: StrictInt | None = Field(default=None, description="0 ordinary … 2 high.")
    expires_at: Time | None = Field(default=None, description="null: never.")
    metadata: dict[Text, Text | None] | None = Field(
        default=None,
        description="Keys that are not named stay; in a change null takes one out.",
        examples=[{"theme": "food"}],
    )

    def about(self) -> dict[str, Any]:
        """The fields that were given, but the content. null only means something for a time."""
        names = ("kind", "title", "importance", "sensitivity", "expires_at", "metadata")
        given = {name: getattr(self, name) for name in names if name in self.model_fields_set}
        return {n: v for n, v in given.items() if v is not None or n == "expires_at"}


class ItemEdit(ItemChange):
    """A change of one memory, all or nothing."""

    shown: Time | None = Field(
        default=None, description="`updated_at` as it was shown; a newer row is not overwritten."
    )


class NewItem(ItemChange, Placed):
    """A memory written by hand."""

    content: Text = Field(examples=["Prefers tea without milk."])
    level: Level = Level.USER


class ClearQuery(Named):
    """Everything that is remembered of a user, whatever its status."""

    confirm: bool = Field(default=False, description="Must be true; there is no way back.")


class SwitchesChange(Named):
    """Switches of a user to set; the others stay."""

    memory_enabled: Flag = None
    auto_learn: Flag = None
    sensitive_allowed: Flag = None

    def given(self) -> dict[str, bool]:
        """The switches that the request sets.

        Raises:
            Rejected: there is none.
        """
        values = self.model_dump(exclude={"user_id"}, exclude_none=True)
        if not values:
            raise Rejected("Name at least one switch.", field="memory_enabled")
        return values


# ── conversations ────────────────────────────────────────────────────────────────────────────────


class MessageIn(BaseModel):
    """One message, as an OpenAI-compatible client has it; calls of tools are left aside."""

    model_config = ConfigDict(extra="forbid")

    role: str = Field(examples=["user"])
    content: Any = Field(
        default=None,
        description="A text, a list of content parts, or null for anyone but the user.",
        examples=["I moved to Bergen."],
    )
    at: Time | None = Field(default=None, description="When it was said; null: now.")
    id: str | None = Field(default=None, description="Makes a redelivery harmless.")
    name: str | None = Field(default=None, description="The speaker, where several share a role.")
    tool_calls: Any = None
    tool_call_id: Any = None


def spoken(messages: list[MessageIn]) -> list[Message]:
    """The messages as the core knows them.

    Raises:
        Rejected: one cannot be meant; the error names its place and field.
    """
    heard = []
    for place, said in enumerate(messages):
        try:
            heard.append(Message(said.role, said.content, at=said.at, id=said.id, name=said.name))
        except Rejected as wrong:
            wrong.field = f"messages[{place}].{wrong.field}"
            raise
    return heard


class TurnIn(Named):
    """A finished turn of one conversation: its new messages, oldest first."""

    messages: list[MessageIn] = Field(
        examples=[
            [
                {"role": "user", "content": "I moved to Bergen.", "id": "m1"},
                {"role": "assistant", "content": "Noted!", "id": "m2"},
            ]
        ]
    )
    project: str | None = None
    assistant_id: str | None = None
    run_id: str | None = None
    mode: Mode = Field(default=Mode.ON, description="What memory may do with this turn.")
    outcome: Outcome = Field(default=Outcome.COMPLETED, description="How its task ended.")
    kind: ConversationKind = ConversationKind.MAIN


class ContextIn(Placed):
    """The message that is to be answered, alone or with what was said before it."""

    query: Text | None = Field(default=None, examples=["Where should we meet for coffee?"])
    messages: list[MessageIn] | None = Field(default=None, examples=[None])
    mode: Mode = Field(default=Mode.ON, description="What memory may do in this conversation.")
    explain: StrictBool = Field(
        default=False,
        description="Say content, score and arms of each, and the way of all that was considered.",
    )
    as_of: Time | None = Field(default=None, description="Answer with what was believed then.")

    def question(self) -> str | list[Message]:
        """What is asked.

        Raises:
            Rejected: neither or both ways of asking were used.
        """
        if (self.query is None) == (self.messages is None):
            raise Rejected("Give either query or messages.", field="query")
        return spoken(self.messages) if self.messages is not None else str(self.query)


class FeedbackIn(Named):
    """What a user says about a memory of an answer."""

    trace: str = Field(
        description="Of the answer that said it.", examples=["019ad2f0c6e87a31b1f4c9d1a0b2c3d4"]
    )
    item_id: str = Field(examples=["019ad2f0c9a17c55a3e0d4f5b6a7c8d9"])
    verdict: Verdict = Field(examples=["correction"])
    text: Text | None = Field(
        default=None,
        description="With a correction: what is true.",
        examples=["Lives in Bergen."],
    )


class ImportQuery(Named):
    """Whose data comes in."""

    dry_run: bool = Field(default=False, description="Only say what would happen.")


class SearchIn(Placed):
    """What to look for among memories, or in what was said (`episodes`)."""

    query: Text = Field(examples=["coffee"])
    limit: StrictInt = Field(default=10, ge=1, le=MAX_LISTED)
    arms: list[str] = Field(
        default=["semantic", "fulltext"], description="Of `semantic`, `fulltext`, `episodes`."
    )
    floor: StrictFloat = Field(
        default=0, description="0 to 1; hits with a lower score are left out."
    )
    as_of: Time | None = Field(default=None, description="Search what was believed then.")
