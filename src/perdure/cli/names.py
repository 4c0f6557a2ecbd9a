"""What commands call the words of the core, in English; `cli.chinese` has the Chinese names."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.types import Kind, Level, Source

KINDS: Mapping[Kind, str] = {
    Kind.PREFERENCE: "preference",
    Kind.CONSTRAINT: "constraint",
    Kind.FACT: "fact",
    Kind.TODO_HINT: "to-do",
}
SOURCES: Mapping[Source, str] = {
    Source.AUTO: "automatic",
    Source.MANUAL: "manual",
    Source.CONSOLIDATED: "merged",
    Source.IMPORTED: "imported",
}
LEVELS: Mapping[Level, str] = {Level.USER: "user", Level.PROJECT: "project"}
OUTCOMES: Mapping[str, str] = {
    "captured": "{count} captured",
    "skipped": "{count} skipped",
    "kept": "{count} kept",
    "stored": "{count} stored",
    "set_aside": "{count} set aside, over the limit",
    "known": "{count} known",
    "refused": "{count} refused",
    "memories_learnt": "{count} memories learnt",
    "not_learnt_yet": "{count} not learnt yet",
}
"""What becomes of the lines of an import."""
DOING: Mapping[str, str] = {
    "capture": "Capturing …",
    "learn": "Learning …",
    "recall": "Recalling …",
    "delete": "Deleting …",
}
"""What a demo does now, by its verb."""
