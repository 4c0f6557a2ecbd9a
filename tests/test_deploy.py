"""What is deployed is put together from parts that there are; it was parsed, not run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from perdure import settings
from perdure.cli import main
from perdure.wiring import bus_of

ROOT = Path(__file__).parent.parent
GIVEN = {
    "MYSQL_PASSWORD": "secret",
    "MYSQL_ROOT_PASSWORD": "other",
    "PERDURE_API_KEYS": "default=k",
}


def composed():
    """The compose file with the variables that it asks for."""
    written = (ROOT / "deploy" / "compose.yaml").read_text("utf-8")
    asked = re.compile(r"\$\{(\w+)(:\?|:-)\}")
    assert {name for name, kind in asked.findall(written) if kind == ":?"} == GIVEN.keys()
    return yaml.safe_load(asked.sub(lambda m: GIVEN.get(m[1], ""), written))


def test_the_services_are_those_of_the_page_and_lean_on_each_other():
    services = composed()["services"]
    assert set(services) == {"app", "worker", "mysql", "kafka", "milvus"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in composed()["volumes"]


def test_the_settings_of_app_and_worker_are_settings_and_fit_each_other():
    for name, works in (("app", False), ("worker", True)):
        environment = composed()["services"][name]["environment"]
        read = settings.load({name: value or "" for name, value in environment.items()})
        assert (read.bus, read.workers) == ("kafka", works)
        bus = bus_of(read)
        assert bus is not None
        bus.close()
        assert (read.kafka_servers or "").partition(":")[0] in composed()["services"]


def test_what_both_count_can_be_read():
    """Each at a port of this machine; neither opens without a key."""
    services = composed()["services"]
    for name, port in (("app", "8377"), ("worker", "9377")):
        assert services[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
    _, *given = services["worker"]["command"]
    options = dict(zip(given[::2], given[1::2], strict=True))
    assert options == {"--metrics-host": "0.0.0.0", "--metrics-port": "9377"}  # noqa: S104 - inside
    with pytest.raises(SystemExit) as ended:
        main(["worker", *given, "--help"])
    assert ended.value.code == 0


def test_the_image_is_made_of_files_that_there_are():
    made = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    copied = [
        name for line in re.findall(r"^COPY (.+) \S+$", made, re.MULTILINE) for name in line.split()
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    extras = set(re.findall(r"\.\[([\w,]+)\]", made)[0].split(","))
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f"\n{extra} = [" in pyproject for extra in extras)
