"""The contract of vector indexes on the table, a fake host, pgvector and Milvus."""

from __future__ import annotations

import os
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.store.database import WAITING, SqlDatabase
from perdure.testing.fakes import FakeHost
from perdure.testing.samples import NOW
from perdure.testing.vector_contracts import VectorIndexContract, entry, found, put, search
from perdure.types import Scope
from perdure.vectors.milvus import MilvusHost
from perdure.vectors.outside import OutsideIndex
from perdure.vectors.pgvector import PgVectorHost
from perdure.vectors.table import TableIndex

SERVERS = {name: os.environ.get(f"PERDURE_TEST_{name}") for name in ("POSTGRES", "MILVUS")}
RUN = count()


def server(name):
    if not SERVERS[name]:
        pytest.skip(f"PERDURE_TEST_{name} is not set; `make services` starts one and says where.")
    return SERVERS[name]


@pytest.fixture
def database(tmp_path):
    database = SqlDatabase.open(
        f"sqlite:///{tmp_path / 'perdure.db'}", clock=lambda: NOW, policy=WAITING.but(busy_s=5)
    )
    yield database
    database.close()


def outside(make):
    """Opens indexes over hosts of models that no other test has, and leaves nothing behind."""
    run = f"{os.getpid()} {next(RUN)}"
    hosts = []

    def opens(model):
        hosts.append(make(f"{model} {run}"))
        return OutsideIndex(hosts[-1], model, clock=lambda: NOW)

    yield opens
    for host in hosts:
        host.clear()
        host.close()


class Walls(VectorIndexContract):
    """The contract, and a wall that holds whatever the owners are called."""

    @pytest.mark.spec("5", "9")
    @pytest.mark.case("ISO-05", "ISO-07")
    def test_no_two_owners_ever_mix_whatever_they_are_called(self, database, index):
        seen: dict[tuple[str, str], str] = {}

        @settings(
            max_examples=25, deadline=None, database=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(st.lists(SCOPES, min_size=2, max_size=4, unique_by=lambda scope: scope.owner))
        def check(scopes):
            for scope in scopes:
                ref = seen.setdefault(scope.owner, str(len(seen)))
                put(database, index, scope, entry(ref, (1, 0)))
            for scope in scopes:
                own = {seen[scope.owner]}
                assert found(database, index, scope) == own
                assert {hit.ref for hit in search(database, index, scope, (1, 0))} == own

        check()


HOSTILE = st.sampled_from([
    "0", " 0", "0 ", "a", "A", "á", "a\u0301", "'", '"', "''", '" or "" == "', "' or 1=1 --", "\\",
    '\\"', "\\\\", "\n", "\n0", "\t", "%", "_", "a%", "a_", "*", "{}", "{owner}", "[]", "null",
    "None",
    "\u200b", "\ufeff", "😀", "👨‍👩‍👧", "小林", "小 林", "\U00020000", "\u202e", "a" * 255,
])  # fmt: skip
IDS = (HOSTILE | st.text(alphabet="'\"\\\n%_0 a😀小", min_size=1, max_size=6)).filter(str.strip)
SCOPES = st.builds(
    lambda user, namespace: Scope(user=user, namespace=namespace), IDS, IDS.map(lambda s: s[:64])
)


class TestTable(Walls):
    """Plain rows of the database itself."""

    @pytest.fixture
    def opens(self):
        return TableIndex


class TestFake(Walls):
    """What the library's users test with."""

    @pytest.fixture
    def opens(self):
        hosts: dict[str, FakeHost] = {}
        return lambda model: OutsideIndex(
            hosts.setdefault(model, FakeHost()), model, clock=lambda: NOW
        )


class TestPgVector(Walls):
    """PostgreSQL with pgvector."""

    @pytest.fixture
    def opens(self):
        url = server("POSTGRES")
        yield from outside(lambda model: PgVectorHost(url, model))


class TestMilvus(Walls):
    """Milvus Lite as a server."""

    @pytest.fixture
    def opens(self):
        url = server("MILVUS")
        yield from outside(lambda model: MilvusHost(url, None, model))
