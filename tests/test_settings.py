"""Settings: where a value comes from, and what stops the start."""

from __future__ import annotations

import pytest

from perdure.errors import Misconfigured
from perdure.settings import Settings, load


@pytest.mark.spec("8")
def test_later_wins_preset_then_file_then_environment_then_call(tmp_path):
    file = tmp_path / "perdure.toml"
    file.write_text(
        'preset = "team"\nllm_model = "from-file"\n'
        "[policy.gate]\nfloor = 0.3\n[policy.budget]\nuser = 4\n"
    )
    settings = load({"PERDURE_LLM_MODEL": "from-env", "PERDURE_POLICY__GATE__FLOOR": "0.4"}, file)
    assert settings.policy.preset == "team"
    assert settings.llm_model == "from-env"
    assert settings.policy.gate.floor == 0.4
    assert settings.policy.budget.user == 4
    assert settings.policy.budget.project == 12
    assert load({}, file, preset="desktop").policy.preset == "desktop"


def test_nothing_set_is_the_assistant_on_a_file_here(tmp_path):
    settings = load({"HOME": str(tmp_path)}, None)
    assert settings.database_url == "sqlite:///perdure.db"
    assert settings.preset == "assistant"


@pytest.mark.spec("8")
@pytest.mark.case("OPS-07")
@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"PERDURE_DATABSE_URL": "x"}, "PERDURE_DATABSE_URL"),
        ({"PERDURE_PORT": "many"}, "PERDURE_PORT"),
        ({"PERDURE_PORT": "-1"}, "PERDURE_PORT"),
        ({"PERDURE_LEARN": "maybe"}, "PERDURE_LEARN"),
        ({"PERDURE_PRESET": "huge"}, "PERDURE_PRESET"),
        ({"PERDURE_POLICY__GATE__FLOR": "1"}, "environment: policy.gate.flor"),
        ({"PERDURE_POLICY__GATE": "1"}, "environment: policy.gate."),
    ],
)
def test_what_cannot_be_meant_stops_the_start_by_name(environ, named):
    with pytest.raises(Misconfigured) as refused:
        load(environ, None)
    assert named in str(refused.value.field)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"preset = ", "perdure.toml"),
        (b"\xff\xfe", "perdure.toml"),
        (b'colour = "blue"', "colour"),
        (b"policy = 1", "policy"),
        (b"[policy]\ngate = 1", "policy"),
    ],
)
def test_a_corrupt_file_is_named_and_left_alone(tmp_path, content, named):
    file = tmp_path / "perdure.toml"
    file.write_bytes(content)
    with pytest.raises(Misconfigured) as refused:
        load({}, file)
    assert named in str(refused.value.field)
    assert file.read_bytes() == content


def test_a_missing_file_that_was_asked_for_is_an_error(tmp_path):
    with pytest.raises(Misconfigured):
        load({"PERDURE_CONFIG": str(tmp_path / "none.toml")})


def test_secrets_do_not_show_themselves():
    settings = load({"PERDURE_LLM_API_KEY": "sk-hidden", "PERDURE_API_KEYS": "default=abc"}, None)
    assert settings.llm_api_key == "sk-hidden"
    assert "sk-hidden" not in repr(settings)
    assert "abc" not in repr(settings)


@pytest.mark.spec("8")
def test_each_part_of_a_deployment_stops_alone():
    for name in ("enabled", "learn", "recall", "workers", "vectors"):
        switches = load({f"PERDURE_{name.upper()}": "0"}, None).switches
        assert not getattr(switches, name)
        assert all(getattr(switches, n) for n in ("enabled", "learn", "recall") if n != name)
    assert Settings().switches.enabled
