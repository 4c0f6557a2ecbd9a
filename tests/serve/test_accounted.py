"""Every call that changes something leaves an entry in the audit, in the same commit."""

from __future__ import annotations

import inspect
import json
import logging
from itertools import count

import pytest
import structlog
import typer
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from perdure import Memory, Message, Scope
from perdure.cli import app as commands
from perdure.cli import main
from perdure.errors import DatabaseUnavailable, PerdureError
from perdure.pages.app import with_pages
from perdure.pages.page import PERSON
from perdure.pages.tune import NAMES
from perdure.ports import AuditFilter
from perdure.serve.app import PREFIX, create_app
from perdure.serve.signed import TRACE
from perdure.settings import Settings
from perdure.store.audit import SqlAudit
from perdure.testing.fakes import ScriptedChat
from perdure.testing.samples import memory as sample
from perdure.types import JobState, JobType, KeyRole, Permission, Promise, Source, Spend, Status

ann = Scope(user="ann")
ANN = {"user_id": "ann"}
LINE = {"type": "memory", "content": "Plays bass"}
ORIGIN = {"Origin": "http://testserver"}
_READS = "it only reads"
_BROWSER = "it changes what a browser keeps, and nothing here"
_LEARNS = "it changes no memory: what is learnt of it is noted when it is learnt"
_SAYS = "it changes no memory: who is told what is counted"
_TABLES = "it changes no memory: tables, vectors and search terms alone"
MERGE = {"operations": [{"op": "merge", "memories": [1, 2], "content": "Likes tea and jazz"}]}


class House:
    """A service with its pages over one file, and what each call needs to be there."""

    def __init__(self, folder, monkeypatch):
        chat = ScriptedChat(rule=lambda _: json.dumps(MERGE))
        monkeypatch.setattr("perdure.wiring.running.chat_model", lambda _settings, _meter: chat)
        self.file = folder / "perdure.db"
        settings = Settings(embedder="none", workers=False)
        self.memory = Memory.open(self.file, settings=settings)
        self.number = count()
        keys = self.memory.parts.keys
        self.keys = {role: keys.create("default", role.value, role) for role in KeyRole}
        app = with_pages(create_app(self.memory, settings))
        self.client = TestClient(app, headers=ORIGIN, cookies={PERSON: "ann"})

    def by(self, role):
        return f"key:{self.keys[role][0].id}"

    def send(self, method, path, role=KeyRole.APP, **how):
        key = {"Authorization": f"Bearer {self.keys[role][1]}"}
        where = path if path.startswith("/pages") else f"{PREFIX}{path}"
        return self.client.request(method, where, headers=key, follow_redirects=False, **how)

    def item(self, **about):
        items = self.memory.items
        item = items.add(ann, f"Likes tea number {next(self.number)}")
        with self.memory.parts.database.begin() as tx:
            tx.items.put(sample(ann, item.content, id=item.id, **about))
        self.memory.parts.uses.note(ann, "t1", [item.id], counts=False)
        self.memory.parts.uses.write()
        return item.id

    def job(self):
        at = self.memory.parts.clock()
        promise = Promise(
            type=JobType.CLEANUP, namespace="default", user="ann", key=str(next(self.number)),
            payload={}, trace="t",
        )  # fmt: skip
        with self.memory.parts.database.begin() as tx:
            job, _ = tx.jobs.promise(promise, at)
            taken = tx.jobs.claim(at, 60, [JobType.CLEANUP])
            assert taken is not None
            tx.jobs.bury(taken, "x", at)
        return job.id

    def key(self):
        return self.memory.parts.keys.create("default", "other")[0].id

    def mergeable(self):
        self.memory.items.clear(ann)
        with self.memory.parts.database.begin() as tx:
            for said in ("Likes tea", "Likes jazz"):
                tx.items.add(sample(ann, said, source=Source.AUTO))

    def run(self):
        self.mergeable()
        return self.memory.consolidate(ann).run

    def kept(self):
        """Everything but the entries themselves, and what is noted beside every request."""
        self.memory.parts.uses.write()
        aside = ("perdure_audit_log", "perdure_keys", "perdure_spend", "perdure_places")
        with self.memory.parts.database.read() as tx:
            sql = tx.items._connection.exec_driver_sql  # type: ignore[attr-defined]
            names = sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
            rows = {n: sql(f"SELECT * FROM {n}").all() for n in names if n not in aside}  # noqa: S608 - our own names
            return rows | {"keys": [(key.id, key.revoked_at) for key in tx.keys.of("default")]}

    def entries(self):
        return self.memory.audit.page("default", AuditFilter(), 200).entries


@pytest.fixture
def house(tmp_path, monkeypatch):
    house = House(tmp_path, monkeypatch)
    yield house
    house.client.close()
    house.memory.close()


def admin(method, path, **how):
    return method, path, {"role": KeyRole.ADMIN, **how}


def form(path, role=KeyRole.APP, **fields):
    return "POST", f"/pages/{path}", {"role": role, "data": fields}


HTTP = {
    "items.added": lambda h: ("POST", "/memory/items", {"json": ANN | {"content": "Likes go"}}),
    "items.cleared": lambda h: (
        h.item() and "DELETE", "/memory/items", {"params": ANN | {"confirm": "true"}},
    ),
    "items.edited": lambda h: (
        "PATCH", f"/memory/items/{h.item()}", {"json": ANN | {"kind": "preference"}},
    ),
    "items.deleted": lambda h: ("DELETE", f"/memory/items/{h.item()}", {"params": ANN}),
    "items.dismissed": lambda h: ("POST", f"/memory/items/{h.item()}/dismiss", {"json": ANN}),
    "items.restored": lambda h: (
        "POST", f"/memory/items/{h.item(status=Status.DISMISSED)}/restore", {"json": ANN},
    ),
    "items.accepted": lambda h: (
        "POST", f"/memory/items/{h.item(suspicious=True)}/accept", {"json": ANN},
    ),
    "items.switched": lambda h: (
        "PATCH", "/memory/settings", {"json": ANN | {"sensitive_allowed": True}},
    ),
    "tidying.consolidated": lambda h: (
        h.mergeable() or "POST", "/memory/consolidate", {"json": ANN},
    ),
    "tidying.undone": lambda h: ("POST", f"/memory/consolidate/{h.run()}/undo", {"json": ANN}),
    "context.judged": lambda h: (
        "POST", "/memory/feedback",
        {"json": ANN | {"trace": "t1", "item_id": h.item(), "verdict": "correction",
                        "text": f"Likes rum {next(h.number)}"}},
    ),
    "moving.taken_in": lambda h: (
        "POST", "/memory/import", {"params": ANN, "content": json.dumps(LINE)},
    ),
    "moving.erased": lambda h: (h.item() and "DELETE", "/users/ann", {}),
    "admin.retried": lambda h: admin("POST", f"/admin/jobs/{h.job()}/retry"),
    "admin.dropped": lambda h: admin("DELETE", f"/admin/jobs/{h.job()}"),
    "admin.changed": lambda h: admin(
        "PATCH", "/admin/settings", json={"values": {"gate.floor": 0.5}}
    ),
    "admin.made": lambda h: admin("POST", "/admin/keys", json={"name": "new"}),
    "admin.revoked": lambda h: admin("DELETE", f"/admin/keys/{h.key()}"),
    "mine.added": lambda h: form("memory", content="Likes chess", kind="fact", project=""),
    "mine.switched": lambda h: form("switches", name="auto_learn", on="off"),
    "mine.several": lambda h: form("several", do="dismiss", chosen=f"{h.item()}@"),
    "one.edited": lambda h: form(f"memory/{h.item()}/edit", content="Likes Go 9", kind="fact"),
    "one.done": lambda h: form(f"memory/{h.item()}", do="delete"),
    "desk.cleared": lambda h: form("clear", typed=h.item() and "clear all"),
    "desk.erased": lambda h: form("erase", typed=h.item() and "ann"),
    "tune.valued": lambda h: form(
        "operations/settings", KeyRole.ADMIN,
        **dict.fromkeys(NAMES, "") | {f"was:{n}": "null" for n in NAMES} | {"budget.fact": "3"},
    ),
    "operations.mended": lambda h: form(f"operations/{h.job()}", KeyRole.ADMIN, do="drop"),
}  # fmt: skip
"""Each changing route, by room and name: what is sent, once what it needs is there."""
HTTP_NOT = {
    "context.captured": _LEARNS,
    "context.context": _SAYS,
    "context.found": _READS,
    "frames.linked": "a link is signed and kept nowhere; what is done behind it is noted",
    "limit.limited": "a desktop alone has it, and it sets its value by the call of admin.changed",
    "sign.chosen": _BROWSER,
    "sign.opened": _BROWSER,
    "sign.left": _BROWSER,
    "why.explained": _READS,
}
PYTHON = {
    "items.add": lambda m, h: m.items.add(ann, "Likes go"),
    "items.edit": lambda m, h: m.items.edit(ann, h.item(), title="Tea"),
    "items.dismiss": lambda m, h: m.items.dismiss(ann, h.item()),
    "items.restore": lambda m, h: m.items.restore(ann, h.item(status=Status.ARCHIVED)),
    "items.accept": lambda m, h: m.items.accept(ann, h.item(suspicious=True)),
    "items.delete": lambda m, h: m.items.delete(ann, h.item()),
    "items.clear": lambda m, h: h.item() and m.items.clear(ann),
    "preferences.set": lambda m, h: m.preferences.set(ann, memory_enabled=False),
    "feedback": lambda m, h: m.feedback(ann, "t1", h.item(), "correction", text="Likes rum"),
    "consolidate": lambda m, h: h.mergeable() or m.consolidate(ann),
    "undo": lambda m, h: m.undo(ann, h.run()),
    "erase": lambda m, h: m.erase(ann),
    "import_lines": lambda m, h: list(m.import_lines(ann, [LINE])),
}
PYTHON_NOT = {
    "capture": _LEARNS,
    "recall": _SAYS,
    **dict.fromkeys(
        ("search", "receipt", "wait", "export", "erasure", "items.list", "items.get"), _READS
    ),
    **dict.fromkeys(("items.history", "items.projects", "preferences.get"), _READS),
    **dict.fromkeys(("open", "start", "close", "parts", "engine"), "it begins or ends"),
}
CLI = {
    "import": lambda h: ["import", h.lines, "--user", "ann", "--no-wait"],
    "jobs retry": lambda h: ["jobs", "retry", h.job()],
    "jobs drop": lambda h: ["jobs", "drop", h.job()],
    "keys create": lambda h: ["keys", "create", "new"],
    "keys revoke": lambda h: ["keys", "revoke", h.key()],
}
CLI_NOT = {
    "demo": "it works in a file that is thrown away",
    **dict.fromkeys(("serve", "worker"), "what they do is noted where it is done"),
    **dict.fromkeys(("migrate", "reindex"), _TABLES),
    **dict.fromkeys(
        ("recall", "items", "export", "calibrate", "doctor", "jobs list", "keys list"), _READS
    ),
}


def noted(house, do, by):
    """It leaves an entry by whoever did it."""
    before = house.entries()
    do()
    new = [entry for entry in house.entries() if entry not in before]
    assert new, "it changed something and left no entry"
    assert {entry.by or entry.imported_by for entry in new} == {by}
    return new


def unnoted(house, monkeypatch, do):
    """Where no entry can be written, nothing happens."""

    def broken(self, entries):
        if entries:
            raise DatabaseUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(SqlAudit, "add", broken)
        before = house.kept()
        do()
        after = house.kept()
    assert {name for name in before if before[name] != after[name]} == set()


@pytest.mark.spec("9")
def test_every_changing_call_is_named_here_or_the_reason_why_it_needs_no_entry(house):
    routes = {
        f"{route.endpoint.__module__.rpartition('.')[2]}.{route.name}"
        for route in iter_route_contexts(house.client.app.routes)
        if not (getattr(route, "methods", None) or {"GET"}) <= {"GET", "HEAD"}
    }
    assert routes == HTTP.keys() | HTTP_NOT.keys()
    assert not HTTP.keys() & HTTP_NOT.keys()

    def verbs(kind, before=""):
        return {f"{before}{n}" for n, _ in inspect.getmembers(kind) if not n.startswith("_")}

    python = verbs(Memory)
    for name in ("items", "preferences"):
        kind = type(getattr(house.memory, name))
        fields = set(kind.__dataclass_fields__)
        python |= {f"{name}.{one}" for one in verbs(kind) if one not in fields}
    assert python == PYTHON.keys() | PYTHON_NOT.keys()

    def leaves(command, *before):
        for name, inner in getattr(command, "commands", {}).items():
            if hasattr(inner, "commands"):
                yield from leaves(inner, *before, name)
            else:
                yield " ".join((*before, name))

    assert set(leaves(typer.main.get_command(commands))) == CLI.keys() | CLI_NOT.keys()


@pytest.mark.spec("6", "7", "9")
@pytest.mark.parametrize("name", HTTP)
def test_a_changing_request_is_noted_in_its_commit(house, monkeypatch, name):
    method, path, how = HTTP[name](house)
    role = how.pop("role", KeyRole.APP)
    house.send("GET", "/memory/items", params=ANN)  # so that the use of the key is noted before

    def send():
        return house.send(method, path, role, **how)

    unnoted(house, monkeypatch, lambda: send().status_code >= 500 or pytest.fail("it was told"))
    replies = []
    new = noted(house, lambda: replies.append(send()), house.by(role))
    assert replies[0].status_code < 400, replies[0].text
    traces = {entry.trace for entry in new}
    told = replies[0].headers.get(TRACE)
    assert told is None or name == "context.judged" or traces == {told}
    assert told or role is KeyRole.ADMIN or path.startswith("/pages") or name in (
        "moving.taken_in", "moving.erased", "tidying.consolidated",
    )  # fmt: skip


@pytest.mark.spec("9", "12.python")
@pytest.mark.parametrize("name", PYTHON)
def test_a_changing_call_is_noted_in_its_commit(house, monkeypatch, name):
    call = PYTHON[name]

    def fails():
        with pytest.raises(PerdureError):
            call(house.memory, ready)

    ready = Ready(house)
    ready.learn(call)
    unnoted(house, monkeypatch, fails)
    by = {"erase": "user", "import_lines": "user"}.get(name)
    noted(house, lambda: call(house.memory, ready), by)


class Nothing:
    """Takes every call and does nothing."""

    def __getattr__(self, name):
        return Nothing()

    def __call__(self, *_, **__):
        return Nothing()

    def __iter__(self):
        return iter(())


class Ready:
    """What a call needs, made before it and handed out whenever it is asked for."""

    def __init__(self, house):
        self._house = house
        self._made = {}

    def learn(self, call):
        """Run the call on nothing, so that what it asks for is there before it counts."""
        call(Nothing(), self)

    def __getattr__(self, name):
        def give(**about):
            if name not in self._made:
                self._made[name] = getattr(self._house, name)(**about)
            return self._made[name]

        return give


@pytest.fixture
def _logs_as_before():
    """Commands say where logs go; those that come after must not follow them."""
    before = list(logging.getLogger().handlers)
    yield
    logging.getLogger().handlers[:] = before
    structlog.reset_defaults()


@pytest.mark.spec("9", "12.command_line")
@pytest.mark.parametrize("name", CLI)
@pytest.mark.usefixtures("_logs_as_before")
def test_a_changing_command_is_noted_in_its_commit(house, monkeypatch, tmp_path, capfd, name):
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    house.lines = tmp_path / "lines.jsonl"
    house.lines.write_text(json.dumps(LINE), "utf-8")
    words = [str(one) for one in ["--database", house.file, *CLI[name](house)]]

    def run(code):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert (ended.value.code or 0) == code, capfd.readouterr()

    unnoted(house, monkeypatch, lambda: run(3))
    noted(house, lambda: run(0), "command line")


@pytest.mark.spec("6", "9")
def test_who_scrapes_the_figures_is_noted_once_an_hour(house):
    key, secret = house.memory.parts.keys.create(
        "default", "scraper", KeyRole.ADMIN, [Permission.DEPLOYMENT_READ]
    )
    for _ in range(3):
        reply = house.client.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
        assert reply.is_success
    entries = [entry for entry in house.entries() if entry.item == "metrics"]
    assert [(entry.operation, entry.by) for entry in entries] == [("read", f"key:{key.id}")]


@pytest.mark.spec("10")
def test_turns_and_what_each_user_costs_can_be_read(house):
    house.memory.capture(ann, "c", [Message("user", "I live in Bergen.")])
    house.memory.capture(ann, "c", [Message("user", "Hi")], outcome="failed")
    month = f"{house.memory.parts.clock():%Y-%m}"
    with house.memory.parts.database.begin() as tx:
        tx.spend.add("default", "ann", Spend(month=month, model="m", purpose="extract", calls=2))
        tx.spend.add("default", "bo", Spend(month=month, model="m", purpose="extract", calls=1))
        tx.spend.add("default", "ann", Spend(month="2026-01", model="m", purpose="embed", calls=7))

    def calls(**query):
        reply = house.send("GET", "/admin/costs", KeyRole.ADMIN, params=query)
        assert reply.is_success, reply.text
        return [(one["purpose"], one["calls"]) for one in reply.json()["spend"]]

    assert calls(user_id="ann") == [("extract", 2)]
    assert calls(user_id="ann", month="2026-01") == [("embed", 7)]
    assert calls() == [("extract", 3)]
    assert calls(user_id="小林") == []
    looks = [e.user for e in house.entries() if e.reason == "costs"]
    assert looks == ["小林", "", "ann", "ann"]
    for wrong in ({"month": "2026-13"}, {"month": "x"}, {"users": "ann"}):
        assert house.send("GET", "/admin/costs", KeyRole.ADMIN, params=wrong).status_code == 422
    assert house.send("GET", "/admin/costs").status_code == 403

    figures = house.memory.metrics.text().decode()
    assert 'perdure_captures_total{reason="",state="queued"} 1.0' in figures
    assert 'perdure_captures_total{reason="NOT_COMPLETED",state="skipped"} 1.0' in figures
    with house.memory.parts.database.read() as tx:
        assert tx.jobs.depth(house.memory.parts.clock())[JobState.PENDING] >= 1
