"""Clients that are shut out of a public service are told of, whatever our own token opens."""

from __future__ import annotations

from tests.emulator.bench import Bench, call


def shut(bench: Bench) -> None:
    """What `gcloud run services remove-iam-policy-binding --member=allUsers` does."""
    path = f"/v2/projects/local/locations/local1/services/{bench.name}:setIamPolicy"
    assert call(bench.url, "POST", path, {"policy": {"bindings": []}})[0] == 200


def test_no_verb_calls_a_public_service_well_that_no_client_reaches(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.env(COLOUR="blue")
    bench.deploy("chat")
    shut(bench)

    client, _ = bench.ask()
    verified = bench.json("verify", "chat", code=9)
    shown = bench.meshctl("verify", "chat")
    back = bench.json("rollback", "chat", "-y")
    forward = bench.json("cutover", "chat", "-y", "--revision", first["revision"], code=8)
    opened = bench.json("deploy", "-y")

    assert client in (401, 403)
    checks = {check["name"]: check["verdict"] for check in verified["checks"]}
    assert (verified["verdict"], checks["public"], checks["identity"]) == ("fail", "fail", "pass")
    assert "closed to clients" in " ".join(shown.out.split())
    assert back["to_release"] == first["to_release"], "nobody has to open it to go back"
    assert "closed to clients" in back["message"]
    assert "`meshctl deploy chat` opens it" in back["hint"]
    assert "its public path cannot be asked" in forward["message"]
    assert (opened["exit_code"], bench.ask()[0]) == (0, 200)
    assert bench.json("verify", "chat")["verdict"] == "pass"
