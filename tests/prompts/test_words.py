"""Our own text in a prompt is recognised and taken out, nothing else."""

from __future__ import annotations

import pytest

from perdure.prompts.words import BLOCK_CLOSE, BLOCK_OPEN, without_blocks

BLOCK = f"{BLOCK_OPEN}\n- Prefers metric units\n{BLOCK_CLOSE}"


@pytest.mark.case("DED-05")
@pytest.mark.parametrize(
    ("said", "left"),
    [
        (f"{BLOCK}\n\nHow far is it?", "How far is it?"),
        (f"How far?\n{BLOCK}", "How far?"),
        (f"a {BLOCK} b {BLOCK} c", "a  b  c"),
        (BLOCK.replace("memory source", "MEMORY source"), ""),
        (f"Go on. {BLOCK_OPEN} its end was lost", "Go on."),
        (BLOCK, ""),
    ],
)
def test_every_block_goes_and_the_rest_stays(said, left):
    assert without_blocks(said) == left


@pytest.mark.parametrize(
    "said",
    ["My memory is bad.", "<memory>mine</memory>", "  spaces stay  ", "<memory", ""],
)
def test_what_is_not_ours_stays_as_it_is(said):
    assert without_blocks(said) == said
