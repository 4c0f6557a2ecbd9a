"""What another process writes is in the next answer: caches go by the owner's revision alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perdure.policy import ASSISTANT
from perdure.types import Kind, Scope

WRITER = """
import sys
from datetime import UTC, datetime
from perdure import Memory, Scope
from perdure.settings import load

url, verb, content = sys.argv[1:]
with Memory.open(settings=load({}).but(database_url=url, embedder="none"), workers=False) as memory:
    ann = Scope(user="ann")
    if verb == "add":
        memory.items.add(ann, content, kind="constraint")
    else:
        (item,) = [one for one in memory.items.list(ann) if one.content == content]
        memory.items.delete(ann, item.id)
"""


def elsewhere(world, verb, content):
    """Another process does it."""
    url = str(world.database._readers.url)
    subprocess.run([sys.executable, "-c", WRITER, url, verb, content], check=True, timeout=60)


@pytest.mark.spec("4.3", "4.10")
def test_a_memory_added_and_deleted_by_another_process_comes_and_goes_at_once(world):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)
    assert world.said(world.asks("lunch?")) == ["Is allergic to peanuts"]

    elsewhere(world, "add", "Eats no fish")
    assert set(world.said(world.asks("lunch?"))) == {"Is allergic to peanuts", "Eats no fish"}

    elsewhere(world, "delete", "Is allergic to peanuts")
    assert world.said(world.asks("lunch?")) == ["Eats no fish"]
    assert list(world.finds("peanuts")) == []


@pytest.mark.spec("4.3")
def test_nothing_that_a_call_decides_stays_for_the_next_call(world):
    """The policy, the scope and the question of one call change no other call's answer."""
    world.knows("Tea is served at five", confidence=0.9)
    world.knows("Tea is served in the hall", project="mao", confidence=0.9)
    before = world.asks("tea?").text

    strict = ASSISTANT.but(gate=ASSISTANT.gate.but(min_relevance=1.0))
    assert world.asks("tea?", policy=strict).text == ""
    assert "hall" in world.asks("tea?", Scope(user="ann", project="mao")).text
    assert world.asks("tea?", as_of=world.at.replace(year=2020)).text == ""
    assert world.asks("tea?").text == before
