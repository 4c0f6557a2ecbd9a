"""A long-term memory for assistants: capture what was said, recall what matters, say why."""

from perdure.aio import AsyncMemory
from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.policy import ASSISTANT, DESKTOP, TEAM, Policy
from perdure.ports import ItemFilter, Page
from perdure.settings import Settings
from perdure.types import (
    Answer,
    Findings,
    Found,
    Kind,
    Level,
    MemoryItem,
    Message,
    Preferences,
    Reason,
    Receipt,
    Scope,
    Status,
)

__all__ = [
    "ASSISTANT",
    "DESKTOP",
    "TEAM",
    "Answer",
    "AsyncMemory",
    "Findings",
    "Found",
    "ItemFilter",
    "Kind",
    "Level",
    "Memory",
    "MemoryItem",
    "Message",
    "Page",
    "PerdureError",
    "Policy",
    "Preferences",
    "Reason",
    "Receipt",
    "Scope",
    "Settings",
    "Status",
]
