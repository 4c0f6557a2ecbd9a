"""Whose memories are meant, and where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from perdure.errors import Rejected
from perdure.types.checks import (
    MAX_BINDING,
    MAX_NAMESPACE,
    MAX_USER,
    identifier,
    optional_identifier,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memories are meant, and optionally where. Ids are compared exactly."""

    user: str
    namespace: str = "default"
    project: str | None = None
    assistant: str | None = None
    run: str | None = None
    conversation: str | None = None

    def __post_init__(self) -> None:
        identifier(self.user, "user", MAX_USER)
        identifier(self.namespace, "namespace", MAX_NAMESPACE)
        for name in ("project", "assistant", "run", "conversation"):
            value = optional_identifier(getattr(self, name), name, MAX_BINDING)
            object.__setattr__(self, name, value)

    @property
    def owner(self) -> tuple[str, str]:
        """Namespace and user: the wall that nothing crosses."""
        return self.namespace, self.user

    def within(self, **bindings: Any) -> Self:
        """The same owner with other bindings."""
        return replace(self, **bindings)


def meant(scope: Any) -> Scope:
    """The scope that a caller gave.

    Raises:
        Rejected: it is none; nothing is done for nobody.
    """
    if not isinstance(scope, Scope):
        raise Rejected("Expected a Scope.", field="scope")
    return scope
