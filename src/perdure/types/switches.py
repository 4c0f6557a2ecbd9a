"""What a user and a deployment turn off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """A user's own switches."""

    memory_enabled: bool = True  # off: no capture, no learning, no recall; managing still works
    auto_learn: bool = True  # off: nothing is learnt unasked; what exists is still recalled
    sensitive_allowed: bool = False  # on: sensitive statements may be learnt and said


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """The deployment's switches; each stops its part alone."""

    enabled: bool = True
    learn: bool = True
    recall: bool = True
    workers: bool = True
    vectors: bool = True
