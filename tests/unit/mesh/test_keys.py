"""Keys open a mesh to who shows one, are compared as a whole, and are never told to anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from multidict import CIMultiDict

from meshctl.errors import UsageError
from meshctl.mesh.keys import read_keys, read_peer_key
from meshctl.mesh.secret_files import opened, without_secrets

ONE, TWO = "key-one-0123456789", "key-two-0123456789"


def code(keys: str | None, **headers: str) -> str | None:
    """How a request with these headers is refused; None when it passes."""
    spelled = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    fault = read_keys(keys).refuse(spelled)
    return f"{fault.status} {fault.code}" if fault else None


@pytest.mark.parametrize("text", [f"{ONE},{TWO}", f" {TWO}\n{ONE}\n", f"{TWO}, {ONE}"])
def test_each_key_opens_in_either_header(text: str) -> None:
    assert code(text, authorization=f"Bearer {ONE}") is None
    assert code(text, Authorization=f"bearer  {TWO}") is None
    assert code(text, X_Api_Key=ONE) is None
    assert code(text, Authorization="Bearer an-identity-token", X_Api_Key=ONE) is None


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"Authorization": ONE}, {"Authorization": f"Basic {ONE}"}, {"X_Api_Key": ONE + "x"},
        {"Authorization": "Bearer"}, {"Authorization": f"Bearer {ONE[:-1]}"},
        {"Authorization": f"Bearer {ONE},{TWO}"}, {"Authorization": "Bearer \udcff"},
    ],
)  # fmt: skip
def test_whatever_else_is_shown_is_401(headers: dict[str, str]) -> None:
    assert code(f"{ONE},{TWO}", **headers) == "401 invalid_api_key"


def test_without_keys_a_mesh_is_open() -> None:
    assert code(None) is None
    assert not read_keys(None) and read_keys(ONE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it holds no key"),
        (" ,\n", "it holds no key"),
        (f"{ONE},short-key", "key 2 has 9 characters"),
        (f"{ONE} clé-0123456789-0123", "key 2 has 19 characters"),
        ("x" * 513, "key 1 has 513 characters"),
    ],
)
def test_a_key_that_is_none_is_refused_and_not_repeated(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_keys(text)

    whole = f"{refused.value.message} {refused.value.hint} {refused.value.place}"
    assert said in whole
    assert not any(word in whole for word in text.replace(",", " ").split())


def test_a_key_for_peers_is_one_and_prints_as_nothing() -> None:
    key = read_peer_key(f" {ONE}\n")

    assert key and key.reveal() == ONE and ONE not in repr(key)
    assert read_peer_key(None) is None
    with pytest.raises(UsageError, match="MESH_PEER_KEY: key 1 has 37 characters"):
        read_peer_key(f"{ONE} {TWO}")


def test_a_file_of_keys_is_read_and_no_engine_is_handed_any(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{ONE}\n{TWO}\n")
    environ = {"MESH_API_KEYS": f"@{tmp_path}/keys", "MESH_PEER_KEY": TWO, "HOME": "@/etc/passwd"}

    read = opened(environ)

    assert code(read["MESH_API_KEYS"], X_Api_Key=TWO) is None
    assert (read["MESH_PEER_KEY"], read["HOME"]) == (TWO, "@/etc/passwd")
    assert without_secrets(environ) == {"HOME": "@/etc/passwd"}


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file"), (b"\xff" * 20, "it is no text"), (b"x" * 65_537, "more than 65536")],
)
def test_a_file_of_keys_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    if content is not None:
        (tmp_path / "keys").write_bytes(content)

    with pytest.raises(UsageError, match=f"MESH_API_KEYS: the file .*keys cannot be read: .*{why}"):
        opened({"MESH_API_KEYS": f"@{tmp_path}/keys"})
