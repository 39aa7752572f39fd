"""Cutover forward and rollback back, by process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.bench import Bench, call, client, until


def deployed(bench: Bench, colour: str) -> dict[str, Any]:
    bench.env(COLOUR=colour)
    done: dict[str, Any] = bench.deploy("chat")
    return done


def canaried(bench: Bench, code: int = 0, **env: str) -> dict[str, Any]:
    bench.env(**env)
    done: dict[str, Any] = bench.json("canary", "chat", "-y", "--tag", "v2", "--keep", code=code)
    return done


def test_a_verified_canary_takes_over_by_the_steps_it_was_given(bench: Bench) -> None:
    old = deployed(bench, "red")
    new = canaried(bench, COLOUR="blue")

    with client(bench) as wrong:
        moved = bench.json("cutover", "chat", "-y", "--steps", "5,100")

    assert wrong == []
    assert [s["kind"] for s in moved["steps"]] == ["shift", "check", "shift", "check", "retire"]
    assert (moved["from_release"], moved["to_release"]) == (old["to_release"], new["to_release"])
    assert bench.split() == {new["revision"]: 100}
    assert bench.tags() == {}


@pytest.mark.parametrize("way", ["tag", "revision", "release"])
def test_cutover_finds_the_revision_by_any_of_its_names(bench: Bench, way: str) -> None:
    deployed(bench, "red")
    new = canaried(bench, COLOUR="blue")
    names = {"tag": "v2", "revision": new["revision"], "release": new["to_release"]}

    bench.json("cutover", "chat", "-y", f"--{way}", names[way])

    assert bench.split() == {new["revision"]: 100}


def test_what_never_passed_may_not_serve(bench: Bench) -> None:
    old = deployed(bench, "red")
    bad = canaried(bench, MODE="lying", code=3)

    refused = bench.json("cutover", "chat", "-y", "--tag", "v2", code=8)
    silent = bench.json("cutover", "chat", "-y", "--tag", "v2", "--allow-unverified", code=64)

    assert bad["revision"] in refused["message"]
    assert "--reason" in silent["hint"]
    assert bench.split() == {old["revision"]: 100}


def test_with_a_reason_the_unverified_is_tried_and_still_has_to_prove_itself(
    bench: Bench,
) -> None:
    old = deployed(bench, "red")
    canaried(bench, MODE="lying", code=3)

    failed = bench.json(
        "cutover", "chat", "-y", "--tag", "v2", "--allow-unverified", "--reason", "drill", code=3
    )

    assert failed["restored"] is True
    assert bench.split() == {old["revision"]: 100}


def test_an_unverified_one_that_is_good_serves_with_a_reason(bench: Bench) -> None:
    deployed(bench, "red")
    new = canaried(bench, COLOUR="blue", MODE="busy", code=7)
    bench.json("abort", "chat", "-y")
    bench.env(MODE="ok")
    new = canaried(bench, COLOUR="green")
    (bench.folder / ".meshctl/state/runs" / new["run"]).rename(bench.folder / "lost")

    bench.json("cutover", "chat", "-y", "--tag", "v2", code=8)
    bench.json("cutover", "chat", "-y", "--tag", "v2", "--allow-unverified", "--reason", "lost")

    assert bench.split() == {new["revision"]: 100}


def test_a_cutover_that_fails_on_the_public_path_gives_traffic_back(bench: Bench) -> None:
    old = deployed(bench, "red")
    new = canaried(bench, MODE="two-faced")

    failed = bench.json("cutover", "chat", "-y", "--tag", "v2", "--steps", "50,100", code=3)

    assert (failed["verdict"], failed["restored"]) == ("fail", True)
    assert bench.split() == {old["revision"]: 100}
    assert bench.tags() == {"v2": new["revision"]}
    assert f"meshctl logs chat --revision {new['revision']}" in failed["hint"]


def test_a_cutover_to_what_serves_already_has_nothing_to_do(bench: Bench) -> None:
    old = deployed(bench, "red")

    again = bench.json("cutover", "chat", "-y", "--release", old["to_release"])

    assert (again["exit_code"], again["steps"]) == (0, [])


@pytest.mark.parametrize("steps", ["5", "100,5", "0,100", "5,5,100", "x", ""])
def test_steps_that_are_no_way_to_a_hundred_are_refused(bench: Bench, steps: str) -> None:
    wrong = bench.json("cutover", "chat", "-y", f"--steps={steps}", code=64)

    assert "--steps 5,100" in wrong["hint"]


def test_rollback_goes_to_the_release_before(bench: Bench) -> None:
    red = deployed(bench, "red")
    blue = deployed(bench, "blue")

    with client(bench) as wrong:
        back = bench.json("rollback", "chat", "-y")

    assert wrong == []
    assert (back["from_release"], back["to_release"]) == (blue["to_release"], red["to_release"])
    assert back["verdict"] == "pass"
    assert bench.split() == {red["revision"]: 100}
    assert bench.release() == red["to_release"]


def test_a_second_rollback_skips_what_was_rolled_back_from(bench: Bench) -> None:
    colours = [deployed(bench, colour) for colour in ("red", "blue", "green")]

    first = bench.json("rollback", "chat", "-y")
    second = bench.json("rollback", "chat", "-y")

    assert [first["to_release"], second["to_release"]] == [
        colours[1]["to_release"],
        colours[0]["to_release"],
    ]
    third = bench.json("rollback", "chat", "-y", code=8)
    assert "no earlier release" in third["message"]


def test_rollback_goes_to_the_release_that_is_named(bench: Bench) -> None:
    colours = [deployed(bench, colour) for colour in ("red", "blue", "green")]

    bench.json("rollback", "chat", "-y", "--to", colours[0]["to_release"])

    assert bench.split() == {colours[0]["revision"]: 100}


def test_rollback_to_a_release_nobody_knows_is_refused(bench: Bench) -> None:
    old = deployed(bench, "red")

    refused = bench.json("rollback", "chat", "-y", "--to", "r0000000000", code=8)

    assert "meshctl history chat" in refused["hint"]
    assert bench.split() == {old["revision"]: 100}


def test_a_deploy_after_a_rollback_is_possible_and_says_what_it_repeats(bench: Bench) -> None:
    deployed(bench, "red")
    blue = deployed(bench, "blue")
    bench.json("rollback", "chat", "-y")

    again = bench.meshctl("deploy", "chat", "-y")

    assert again.code == 0
    assert "rolled back from before" in again.err
    assert bench.split() == {blue["revision"]: 100}


def test_a_rollback_to_what_does_not_prove_itself_stays_and_asks_for_a_person(
    bench: Bench,
) -> None:
    bench.env(MODE="fades", TRUE_ANSWERS="2")
    fading = bench.deploy("chat")
    bench.env(MODE="ok")
    bench.deploy("chat")

    failed = bench.json("rollback", "chat", "-y", code=4)

    assert failed["restored"] is False
    assert bench.split() == {fading["revision"]: 100}


@pytest.mark.parametrize("trouble", ["broken", "gone", "not-utf8"])
def test_rollback_needs_no_valid_fleet_file(bench: Bench, trouble: str) -> None:
    red = deployed(bench, "red")
    deployed(bench, "blue")
    if trouble == "gone":
        bench.file.unlink()
    else:
        bench.file.write_bytes(b"services: [\n" if trouble == "broken" else b"\xff\xfe\x00")

    back = bench.meshctl("rollback", "chat", "-y")

    assert back.code == 0, back.err
    assert "cannot be used; going by the journal" in back.err
    assert bench.split() == {red["revision"]: 100}


def served_template(bench: Bench) -> dict[str, Any]:
    """The revision that serves, as the cloud has it, without what names this one."""
    (name,) = bench.split()
    found = next(one for one in bench.revisions() if short_name(one) == name)
    return {key: found[key] for key in found if key in TEMPLATE}


TEMPLATE = ("containers", "scaling", "timeout", "maxInstanceRequestConcurrency",
            "executionEnvironment", "serviceAccount")  # fmt: skip
DIFFERENT: dict[str, Any] = {
    "image": "other",
    "args": ["mesh", "--other"],
    "env": {"MODE": "ok", "COLOUR": "blue", "TOKEN": {"secret": "hub", "version": 4}},
    "probe": {"period": "7s", "timeout": "2s", "failures": 9},
    "resources": {"cpu": 2, "memory": "1Gi"},
    "scaling": {"min": 0, "max": 4, "concurrency": 33},
    "timeout": "90s",
    "account": "runner@local.iam.gserviceaccount.com",
}
CHANGED = {"image", "args", "env.COLOUR", "env.TOKEN", "probe.period_s", "probe.failures",
           "resources.cpu", "resources.memory", "scaling.max", "scaling.min",
           "scaling.concurrency", "timeout", "account"}  # fmt: skip


def short_name(resource: dict[str, Any]) -> str:
    return str(resource["name"]).rpartition("/")[2]


def test_rollback_restores_everything_and_shows_it_before_it_asks(bench: Bench) -> None:
    secrets = {"secrets": {"hub": {"3": "old", "4": "new"}}}
    call(bench.url, "PUT", "/emulator/settings", secrets)
    bench.json("build", "other")
    token = {"secret": "hub", "version": 3}
    bench.declare(scaling={"min": 1, "max": 2}, env={"MODE": "ok", "COLOUR": "red", "TOKEN": token})
    red = bench.deploy("chat")
    before, yaml = served_template(bench), bench.file.read_text()
    bench.declare(**DIFFERENT)
    bench.deploy("chat")
    assert served_template(bench) != before

    asked = bench.meshctl("rollback", "chat")
    back = bench.json("rollback", "chat", "-y")

    assert asked.code == 64
    shown = {line.split()[0] for line in asked.err.splitlines() if line.startswith("    ")}
    assert shown >= CHANGED
    assert {change["path"] for change in back["changes"]} >= CHANGED
    assert served_template(bench) == before
    assert (bench.service() or {})["scaling"]["minInstanceCount"] == 1
    assert bench.release() == red["to_release"]
    bench.file.write_text(yaml)
    assert bench.json("plan", "--exit-code")["services"][0]["changes"] == []


def test_the_minimum_comes_back_that_was_set_last_and_not_the_one_it_was_deployed_with(
    bench: Bench,
) -> None:
    deployed(bench, "red")
    bench.declare(scaling={"min": 1})
    bench.deploy("chat")
    bench.declare(scaling={"min": 0})
    deployed(bench, "blue")

    bench.json("rollback", "chat", "-y")

    assert (bench.service() or {})["scaling"]["minInstanceCount"] == 1


def test_with_an_empty_state_a_rollback_goes_by_the_labels_of_the_service(bench: Bench) -> None:
    bench.declare(scaling={"min": 1})
    red = deployed(bench, "red")
    bench.declare(scaling={"min": 0})
    deployed(bench, "blue")

    back = bench.meshctl("-o", "json", "--state", "elsewhere", "rollback", "chat", "-y")

    assert back.code == 0, back.err
    assert "going by the labels on the service" in back.err
    assert "known by the labels on the service" in back.json["message"]
    assert bench.split() == {red["revision"]: 100}
    assert (bench.service() or {})["scaling"]["minInstanceCount"] == 1


def test_a_forged_label_leads_nowhere(bench: Bench) -> None:
    red = deployed(bench, "red")
    path = f"/v2/projects/local/locations/local1/services/{bench.name}?updateMask=labels"
    labels = {"meshctl-r0123456789": "pass_m0_20261130t204512"}
    call(bench.url, "PATCH", path, {"labels": labels})

    refused = bench.json("--state", "elsewhere", "rollback", "chat", "-y", code=8)

    assert "no earlier release" in refused["message"]
    assert bench.split() == {red["revision"]: 100}


def test_a_damaged_event_stops_a_deploy_with_8_and_not_a_rollback(bench: Bench) -> None:
    red = deployed(bench, "red")
    blue = deployed(bench, "blue")
    event = bench.folder / ".meshctl/state/runs" / blue["run"] / "000001.json"
    event.write_text("{")

    refused = bench.json("deploy", "chat", "-y", code=8)
    status = bench.json("status", "chat")
    back = bench.json("rollback", "chat", "-y")

    assert blue["run"] in refused["message"]
    assert "meshctl rollback chat" in refused["hint"]
    assert status["services"][0]["serving"][0]["release"] == blue["to_release"]
    assert bench.split() == {red["revision"]: 100}
    assert "known by the labels" in back["message"]


def test_history_tells_which_release_serves_and_where_a_rollback_goes(bench: Bench) -> None:
    red = deployed(bench, "red")
    blue = deployed(bench, "blue")

    releases = bench.json("history", "chat")["releases"]

    marks = {r["release"]: (r["serving"], r["rollback_to"]) for r in releases}
    assert marks == {blue["to_release"]: (True, False), red["to_release"]: (False, True)}
    assert {r["verdict"] for r in releases} == {"pass"}


def test_history_shows_the_way_back_and_what_nobody_proved(bench: Bench) -> None:
    colours = [deployed(bench, colour) for colour in ("red", "blue")]
    template = {**(bench.service() or {})["template"], "timeout": "61s"}
    template = {key: template[key] for key in template if key not in ("revision", "labels")}
    path = f"/v2/projects/local/locations/local1/services/{bench.name}?updateMask=template"
    assert call(bench.url, "PATCH", path, {"template": template})[0] == 200
    until(lambda: len(bench.revisions()) == 3)

    told = bench.json("history", "chat")
    table = bench.meshctl("history", "chat").out
    elsewhere = bench.json("--state", "elsewhere", "history", "chat")

    red, blue = (one["to_release"] for one in colours)
    assert told["chain"] == [blue, red]
    assert f"way back: {blue} <- {red}" in table
    assert (told["releases"][0]["run"], told["releases"][0]["verdict"]) == (None, None)
    assert "unproven" in table.splitlines()[1]
    assert max(map(len, table.splitlines())) <= 80
    assert elsewhere["chain"] == [blue, red]
    assert {one["run"] for one in elsewhere["releases"]} == {None}


def test_history_and_explain_start_no_embedded_cloud_that_is_stopped(bench: Bench) -> None:
    done = deployed(bench, "red")
    text = bench.file.read_text().replace(bench.url, "true")
    bench.file.write_text(text)

    told = bench.json("history", "chat")
    story = bench.json("explain", "chat")

    assert told["releases"][0]["release"] == done["to_release"]
    assert not told["releases"][0]["serving"]
    assert "is stopped" in told["notes"][0]
    assert story["run"] == done["run"]
    assert bench.json("emulator", "status")["state"] == "stopped"


def test_explain_tells_what_can_still_be_read_of_a_damaged_run(bench: Bench) -> None:
    done = deployed(bench, "red")
    folder = bench.folder / ".meshctl/state/runs" / done["run"]
    (folder / "000003.json").write_text("[]")

    story = bench.json("explain", done["run"])
    (folder / "000001.json").write_text("{}")
    unknown = bench.json("explain", done["run"], code=8)

    assert [e["event"] for e in story["events"]][2] == "unreadable"
    assert done["run"] in unknown["message"]
