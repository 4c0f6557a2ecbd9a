"""The documents hold what they say: names, tables, links, commands and code."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import runpy
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient
from typer.main import get_command

import perdure
from perdure import Memory, Scope, errors, observe, policy, settings, types
from perdure.cli import app
from perdure.serve.app import create_app
from perdure.store.schema import metadata

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("bench/**/*.md")])
READMES = (ROOT / "README.md", ROOT / "README.zh.md")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_VARIABLE = re.compile(r"\bPERDURE_[A-Z][A-Z_]*\b")
_INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )*perdure [^`\n]+|make [a-z]+)`")
_TABLE = re.compile(r"<!-- table: (\w+) -->")
_MAKE = re.compile(r"\bmake ([a-z]+)")
_SAMPLE = re.compile(r"-d '.*?'|--data-urlencode \".*?\"")
"""What is sent to the service in a block of commands."""


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return [code for marked, code in _FENCE.findall(page.read_text("utf-8")) if marked == language]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """What a link into a page may point to, as GitHub makes it."""
    prose = _FENCE.sub("", page.read_text("utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for _, title in _HEADING.findall(prose)
    }


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def family(error: type[errors.PerdureError]) -> set[str]:
    return {error.code}.union(*map(family, error.__subclasses__()))


KNOBS = {
    f"{group.name}.{knob.name}"
    for group in dataclasses.fields(policy.Policy)
    if group.name != "preset"
    for knob in dataclasses.fields(getattr(policy.ASSISTANT, group.name))
}
SETTINGS = {field.name.upper() for field in dataclasses.fields(settings.Settings)} - {"POLICY"}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings", {f"PERDURE_{name}" for name in SETTINGS}),
        ("policy", KNOBS),
        ("errors", family(errors.PerdureError)),
        ("reasons", set(types.Reason)),
        ("python", set(perdure.__all__)),
        ("metrics", {one.full_name for one in observe.METRICS.values()}),
        ("jobs", {*types.JobType, *types.JobState, *types.ReceiptState}),
        ("files-and-tables", {*metadata.tables, *types.Kind, *types.Status, *types.Source}),
    ],
)
def test_every_name_stands_in_the_reference(page, names):
    text = (DOCS / "reference" / f"{page}.md").read_text("utf-8")
    assert names
    assert {name for name in names if f"`{name}`" not in text} == set()


@pytest.mark.hurries
def test_the_tables_are_what_the_code_says():
    made = runpy.run_path(str(DOCS / "reference" / "make.py"))
    pages = [page for page in DOCS.rglob("*.md") if "<!-- table" in page.read_text("utf-8")]
    tables = [name for page in pages for name in _TABLE.findall(page.read_text("utf-8"))]
    assert sorted(tables) == sorted(made["TABLES"])
    stale = [named(page) for page in pages if made["filled"](page) != page.read_text("utf-8")]
    assert stale == [], "run: make docs"


def test_no_document_names_a_setting_that_is_not_there():
    known = {f"PERDURE_{name}" for name in SETTINGS | {"CONFIG", "TEST_STRICT", "TEST_"}}
    for page in PAGES:
        unknown = set(_VARIABLE.findall(page.read_text("utf-8"))) - known
        assert {name for name in unknown if not name.startswith("PERDURE_POLICY__")} == set(), page


# ── links and commands ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page):
    prose = _FENCE.sub("", page.read_text("utf-8"))
    for link in _LINK.findall(prose):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_in_a_document_is_one(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for code in (*blocks(page, "sh"), *_INLINE.findall(page.read_text("utf-8"))):
        assert set(_MAKE.findall(code)) <= targets
        for line in code.splitlines():
            for part in re.split(r"[|;&]", line):
                check(part.split())


def check(words: list[str]) -> None:
    """If these words call perdure, they name a command and options that it has."""
    words = [word for word in words if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    if not words or words[0] != "perdure":
        return
    command = get_command(app)
    known = {option for one in command.params for option in one.opts} | {"--help"}
    for word in words[1:]:
        below = getattr(command, "commands", {})
        if word in below:
            command = below[word]
            known |= {way for one in command.params for way in (*one.opts, *one.secondary_opts)}
        elif word.startswith("--"):
            assert word.partition("=")[0] in known, words
    assert not hasattr(command, "commands") or words[1:] in (["--help"], ["--version"]), words


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_settings_and_json_in_a_document_can_be_read(page, tmp_path):
    for code in blocks(page, "toml"):
        file = tmp_path / settings.FILE
        file.write_text(code, "utf-8")
        assert settings.load({}, file) != settings.Settings()
    for code in blocks(page, "json"):
        assert json.loads(code)


# ── code ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_python_in_a_document_compiles(page):
    for code in blocks(page, "python"):
        compile(code, named(page), "exec")


@pytest.mark.spec("12.python")
@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            READMES[0],
            [
                "- Wants answers in Norwegian",
                "\nMoved to Bergen LOW_SCORE\n",
                "fact Moved to Bergen",
                "Does not eat meat",
            ],
        ),
        (READMES[1], ["香菜", "\n住在杭州 LOW_SCORE\n", "杭州", "不吃肉"]),
        (
            DOCS / "tutorial.md",
            ["queued", "learnt by basic", "eat meat", "left out: ", "refused: SECRET"],
        ),
    ],
    ids=lambda value: named(value) if isinstance(value, Path) else "",
)
def test_the_examples_do_what_they_promise(page, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(settings.PREFIX)]:
        monkeypatch.delenv(name)
    for code in blocks(page, "python"):
        script = tmp_path / "example.py"
        script.write_text(code, "utf-8")
        runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert [words for words in said if words not in printed] == []


@pytest.mark.spec("12.python")
@pytest.mark.parametrize(
    ("page", "said"),
    [(READMES[0], ["Does not eat meat", "Never eats meat"]), (READMES[1], ["不吃肉"])],
    ids=["en", "zh"],
)
def test_what_a_readme_sends_to_the_service_is_learnt_and_recalled(page, said, tmp_path):
    (code,) = [code for code in blocks(page, "sh") if "curl" in code]
    turn, question = (json.loads(body) for body in re.findall(r"-d '(.*?)'", code))
    (whose,) = re.findall(r'--data-urlencode "user_id=(.*?)"', code)
    assert {turn["user_id"], question["user_id"]} == {whose}
    where = [urlsplit(found).path for found in re.findall(r"http://\S+", code)]
    chosen = settings.Settings(embedder="none")
    with (
        Memory.open(tmp_path / "perdure.db", settings=chosen) as memory,
        TestClient(
            create_app(memory, chosen), base_url="http://127.0.0.1", client=("127.0.0.1", 1)
        ) as api,
    ):
        taken = api.post(where[0], json=turn).json()
        memory.wait(memory.receipt(Scope(user=whose), taken["trace"]), timeout=20)
        answer = api.post(where[1], json=question).json()["text"]
        (item,) = api.get(where[2], params={"user_id": whose}).json()["items"]
    assert item["content"] in answer
    assert any(words in item["content"] for words in said)


# ── two languages ────────────────────────────────────────────────────────────────────────────────


def test_both_readmes_are_built_alike():
    english, chinese = (page.read_text("utf-8") for page in READMES)
    levels = [[len(marks) for marks, _ in _HEADING.findall(_FENCE.sub("", text))]
              for text in (english, chinese)]  # fmt: skip
    assert levels[0] == levels[1]
    english_sh, chinese_sh = (
        [_SAMPLE.sub("…", code) for code in blocks(page, "sh")] for page in READMES
    )
    assert english_sh == chinese_sh
    samples = _SAMPLE.findall(chinese)
    assert len(samples) == len(_SAMPLE.findall(english))
    assert not any(sample.isascii() for sample in samples)
    assert len(blocks(READMES[0], "python")) == len(blocks(READMES[1], "python"))
    links = [{link for link in _LINK.findall(text) if link.startswith("docs/")}
             for text in (english, chinese)]  # fmt: skip
    assert links[0] == links[1]
