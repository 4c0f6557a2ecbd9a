"""A user's switches: read with the preset's defaults, set one by one."""

from __future__ import annotations

import pytest

from perdure import Memory, Scope
from perdure.errors import Rejected
from perdure.settings import load

ann = Scope(user="ann")


def opened(tmp_path, preset):
    settings = load({"PERDURE_EMBEDDER": "none"}, preset=preset)
    url = f"sqlite:///{tmp_path / preset}.db"
    return Memory.open(settings=settings.but(database_url=url), workers=False)


@pytest.mark.spec("8")
def test_defaults_come_from_the_preset_and_what_is_set_stays(tmp_path):
    """A 8 P1 with D9's later word: automatic learning is off in `team`, on in `assistant`."""
    with opened(tmp_path, "team") as memory:
        assert not memory.preferences.get(ann).auto_learn
        assert memory.preferences.set(ann, auto_learn=True).auto_learn
        assert not memory.preferences.get(Scope(user="bo")).auto_learn
    with opened(tmp_path, "team") as memory:
        assert memory.preferences.get(ann).auto_learn
    with opened(tmp_path, "assistant") as memory:
        assert memory.preferences.get(ann).auto_learn


@pytest.mark.spec("8")
@pytest.mark.parametrize(("switch", "value"), [("colour", True), ("auto_learn", "yes")])
def test_a_switch_that_cannot_be_meant_is_refused_by_name(tmp_path, switch, value):
    with opened(tmp_path, "assistant") as memory, pytest.raises(Rejected) as refused:
        memory.preferences.set(ann, **{switch: value})
    assert refused.value.field == switch
