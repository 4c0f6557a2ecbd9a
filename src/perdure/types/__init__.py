"""The shared words: who is meant, what was said, what is remembered, and what became of it."""

from perdure.types.access import MAY, Claimed, Key, KeyRole, Permission
from perdure.types.answer import Answer, Degraded, Dropped, Found, Kept
from perdure.types.checks import (
    MAX_BINDING,
    MAX_MESSAGE,
    MAX_NAMESPACE,
    MAX_USER,
    ItemId,
    Trace,
    Word,
    aware,
    identifier,
    just_after,
    made_at,
    new_id,
    one_of,
    optional_identifier,
)
from perdure.types.consolidation import Consolidation, Drop, Merge, Spared, Undone
from perdure.types.decision import Action, Candidate, Change, Decision, Refused
from perdure.types.erasure import Erasure
from perdure.types.explained import Considered, Place, Score, Stage
from perdure.types.feedback import Feedback, Verdict
from perdure.types.history import OF_MEMORIES, Actor, AuditEntry, AuditPage, Operation, Tombstone
from perdure.types.item import (
    Kind,
    Level,
    MemoryItem,
    Origin,
    Source,
    Status,
    VectorStatus,
    content_hash,
)
from perdure.types.job import EVENTS, Job, JobState, JobType, Outgoing, Promise
from perdure.types.reason import Reason
from perdure.types.receipt import Learnt, Receipt, ReceiptState, RefusedNote
from perdure.types.said import ConversationKind, Message, Mode, Outcome, Role, Turn, Utterance
from perdure.types.scope import Scope
from perdure.types.spend import Spend
from perdure.types.switches import Preferences, Switches

__all__ = [
    "EVENTS",
    "MAX_BINDING",
    "MAX_MESSAGE",
    "MAX_NAMESPACE",
    "MAX_USER",
    "MAY",
    "OF_MEMORIES",
    "Action",
    "Actor",
    "Answer",
    "AuditEntry",
    "AuditPage",
    "Candidate",
    "Change",
    "Claimed",
    "Considered",
    "Consolidation",
    "ConversationKind",
    "Decision",
    "Degraded",
    "Drop",
    "Dropped",
    "Erasure",
    "Feedback",
    "Found",
    "ItemId",
    "Job",
    "JobState",
    "JobType",
    "Kept",
    "Key",
    "KeyRole",
    "Kind",
    "Learnt",
    "Level",
    "MemoryItem",
    "Merge",
    "Message",
    "Mode",
    "Operation",
    "Origin",
    "Outcome",
    "Outgoing",
    "Permission",
    "Place",
    "Preferences",
    "Promise",
    "Reason",
    "Receipt",
    "ReceiptState",
    "Refused",
    "RefusedNote",
    "Role",
    "Scope",
    "Score",
    "Source",
    "Spared",
    "Spend",
    "Stage",
    "Status",
    "Switches",
    "Tombstone",
    "Trace",
    "Turn",
    "Undone",
    "Utterance",
    "VectorStatus",
    "Verdict",
    "Word",
    "aware",
    "content_hash",
    "identifier",
    "just_after",
    "made_at",
    "new_id",
    "one_of",
    "optional_identifier",
]
