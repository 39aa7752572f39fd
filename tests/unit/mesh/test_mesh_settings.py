"""A mesh that cannot be meant never starts: exit 64, with a sentence."""

from __future__ import annotations

import pytest

from meshctl.mesh.__main__ import main
from meshctl.mesh.lane import Rules
from meshctl.mesh.settings import read_settings

ONE = '[{"id":"m","aliases":["daily"]}]'
TWO = '[{"id":"m"},{"id":"n"}]'
PEERS = "a=http://a|far"


def test_what_is_not_said_has_a_default() -> None:
    settings = read_settings({"MESH_MODELS": ONE})

    assert (settings.port, settings.log, settings.load_timeout_s) == (8080, "info", 600.0)
    assert (str(settings.models_dir), str(settings.engine_dir)) == ("models", "engine")
    assert (settings.default_model, settings.metadata_host) == ("m", None)
    assert (settings.keepalive_s, settings.grace_s, settings.peer_timeout_s) == (10.0, 0.25, 600.0)
    assert (settings.connect_retries, settings.connect_backoff_s) == (8, 0.5)


@pytest.mark.parametrize(
    ("environ", "default"),
    [
        ({"MESH_MODELS": ONE, "MESH_DEFAULT_MODEL": "daily"}, "m"),
        ({"MESH_MODELS": TWO, "MESH_DEFAULT_MODEL": "n"}, "n"),
        ({"MESH_MODELS": '[{"id":"m"},{"id":"n","default":true}]'}, "n"),
        ({"MESH_FEDERATION_PEERS": PEERS}, None),
        ({"MESH_FEDERATION_PEERS": PEERS, "MESH_DEFAULT_MODEL": "far"}, "far"),
    ],
)
def test_the_default_model_is_the_one_that_was_chosen(
    environ: dict[str, str], default: str | None
) -> None:
    assert read_settings(environ).default_model == default


@pytest.mark.parametrize(
    ("environ", "form"),
    [({}, "text"), ({"K_SERVICE": "chat"}, "json"),
     ({"K_SERVICE": "chat", "MESH_LOG_FORMAT": "text"}, "text")],
)  # fmt: skip
def test_the_log_is_structured_on_cloud_run(environ: dict[str, str], form: str) -> None:
    assert read_settings({"MESH_MODELS": ONE} | environ).log_form == form


def test_how_models_take_turns_is_said_by_three_variables() -> None:
    usual = read_settings({"MESH_MODELS": ONE}).rules

    said = {"MESH_QUEUE": "7", "MESH_MIN_RESIDENCY": "0s", "MESH_MAX_WAIT": "1m"}

    assert usual == Rules(queue=512, min_residency_s=5.0, max_wait_s=30.0)
    assert read_settings({"MESH_MODELS": ONE} | said).rules == Rules(7, 0.0, 60.0)


@pytest.mark.parametrize(
    ("environ", "metadata"),
    [
        ({"K_REVISION": "chat-1"}, "metadata.google.internal"),
        ({"K_REVISION": "chat-1", "GCE_METADATA_HOST": "127.0.0.1:9"}, "127.0.0.1:9"),
    ],
)
def test_identity_comes_from_where_the_mesh_runs(environ: dict[str, str], metadata: str) -> None:
    assert read_settings({"MESH_MODELS": ONE} | environ).metadata_host == metadata


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"MESH_MODELS": ONE, "MESH_KEEPALIVE": "10"}, "MESH_KEEPALIVE: '10' is not a duration"),
        ({"MESH_MODELS": ONE, "MESH_PEER_TIMEOUT": "0s"}, "MESH_PEER_TIMEOUT: must be longer"),
        (
            {"MESH_MODELS": ONE, "MESH_PROXY_CONNECT_RETRIES": "101"},
            "MESH_PROXY_CONNECT_RETRIES: '101' is not a whole number from 0 to 100",
        ),
        (
            {"MESH_MODELS": ONE, "MESH_PROXY_CONNECT_BACKOFF_MS": "1s"},
            "MESH_PROXY_CONNECT_BACKOFF_MS: '1s' is not a whole number from 0 to 60000",
        ),
        (
            {"MESH_MODELS": '[{"id":"m","keepalive":"never"}]'},
            "keepalive: Input should be 'comment', 'chunk' or 'off'",
        ),
        ({}, "nothing to serve: MESH_MODELS and MESH_FEDERATION_PEERS are empty"),
        ({"MESH_MODELS": "["}, "MESH_MODELS: Invalid JSON"),
        ({"MESH_MODELS": ONE, "MESH_FEDERATION_PEERS": "x"}, "MESH_FEDERATION_PEERS: [0]: 'x'"),
        ({"MESH_MODELS": TWO}, "MESH_DEFAULT_MODEL: several models and none is the default"),
        ({"MESH_MODELS": ONE, "MESH_DEFAULT_MODEL": "x"}, "neither a model here nor a peer's: 'x'"),
        (
            {"MESH_FEDERATION_PEERS": "a=http://a|*", "MESH_DEFAULT_MODEL": "a\nb"},
            "MESH_DEFAULT_MODEL: 'a\\nb' is not the name of a model",
        ),
        (
            {"MESH_MODELS": '[{"id":"m","default":true},{"id":"n"}]', "MESH_DEFAULT_MODEL": "n"},
            "'n' contradicts MESH_MODELS, 'm' there",
        ),
        ({"MESH_MODELS": ONE, "PORT": "0"}, "PORT: '0' is not a port from 1 to 65535"),
        ({"MESH_MODELS": ONE, "PORT": "9" * 9999}, "is not a port from 1 to 65535"),
        ({"MESH_MODELS": ONE, "MESH_LOG": "loud"}, "MESH_LOG: 'loud' is not one of error"),
        ({"MESH_MODELS": ONE, "MESH_RELEASE": "a\nb"}, "MESH_RELEASE: 'a\\nb' cannot travel"),
        ({"MESH_MODELS": ONE, "MESH_API_KEYS": ""}, "MESH_API_KEYS: it holds no key"),
        ({"MESH_MODELS": ONE, "MESH_API_KEYS": "@/no/keys"}, "/no/keys cannot be read: No such"),
        ({"MESH_MODELS": ONE, "MESH_PEER_KEY": "short"}, "MESH_PEER_KEY: key 1 has 5 characters"),
        ({"MESH_MODELS": ONE, "MESH_LOG_FORMAT": "xml"}, "'xml' is not one of text, json"),
        ({"MESH_MODELS": ONE, "MESH_QUEUE": "-1"}, "MESH_QUEUE: '-1' is not a whole number"),
        ({"MESH_MODELS": ONE, "MESH_QUEUE": "0"}, "MESH_QUEUE: is 0, and who waits for a load"),
        ({"MESH_MODELS": ONE, "MESH_CACHE": "9" * 400}, "' is more than any disk holds"),
        ({"MESH_MODELS": ONE, "MESH_CACHE": "٣GiB"}, "MESH_CACHE: '٣GiB' is not a size"),
        (
            {"MESH_MODELS": ONE, "MESH_LOAD_TIMEOUT": "9" * 400 + "s"},
            "...' is longer than a hundred years",
        ),
        ({"MESH_MODELS": ONE, "MESH_KEEPALIVE": "0.0001ms"}, "MESH_KEEPALIVE: is shorter than 1ms"),
        ({"MESH_FEDERATION_PEERS": "a=http://[::1|m"}, "'http://[::1' names no host and port"),
        ({"MESH_FEDERATION_PEERS": "a=http://x:99999999|m"}, "99999999' names no host and port"),
        ({"MESH_MODELS": ONE, "MESH_MAX_WAIT": "soon"}, "MESH_MAX_WAIT: 'soon' is not a duration"),
        ({"MESH_MODELS": '[{"id":"m","pinned":true,"ttl":"1m"}]'}, "ttl would mean nothing"),
        ({"MESH_MODELS": '[{"id":"m","ttl":"0s"}]'}, "ttl: Input should be greater than 0"),
        ({"MESH_MODELS": ONE, "MESH_LOAD_TIMEOUT": "10"}, "MESH_LOAD_TIMEOUT: '10' is not a"),
        ({"MESH_MODELS": '[{"id":"m","engine":"generic"}]'}, "engine generic needs a command"),
    ],
)
def test_a_bad_configuration_is_64_and_a_sentence(
    environ: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["serve"], environ)

    assert code == 64
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "no command was given"),
        (["mesh"], "unknown argument 'mesh'"),
        (["serve", "--port", "1"], "unknown argument '--port'"),
        (["serve", "serve"], "unknown argument 'serve'"),
    ],
)
def test_unknown_arguments_are_64_at_once(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(argv, {"MESH_MODELS": ONE})

    assert code == 64
    assert message in capsys.readouterr().err


def test_help_is_not_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"], {}) == 0
    assert "MESH_MODELS_DIR" in capsys.readouterr().out
