"""Adopt, then plan, is empty: by process, on live services made with the real client."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from google.api_core.client_options import ClientOptions
from google.api_core.future import polling
from google.auth.credentials import AnonymousCredentials
from google.cloud import run_v2
from google.protobuf.json_format import ParseDict

from tests.emulator.bench import Bench, Result, call

FAST = polling.DEFAULT_POLLING.with_delay(initial=0.05, maximum=0.2)
PARENT = "projects/local/locations/local1"
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"


class Strange:
    """A service that somebody made without meshctl, in a folder without a fleet file."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.image = bench, image_of(bench)
        options = {"client_options": ClientOptions(api_endpoint=bench.url)}
        self.api = run_v2.ServicesClient(
            transport="rest", credentials=AnonymousCredentials(), **options
        )

    def template(self, **changed: Any) -> dict[str, Any]:
        container = {
            "image": self.image,
            "args": ["mesh"],
            "env": [{"name": "MODE", "value": "ok"}, {"name": "COLOUR", "value": "a ${b} c"}],
            "resources": {"limits": {"cpu": "1000m", "memory": "512Mi"}},
        }
        extra = changed.pop("containers", [])
        return {"containers": [container | changed.pop("container", {}), *extra], **changed}

    def create(self, template: dict[str, Any] | None = None, **service: Any) -> None:
        body = {"template": template or self.template(), "invokerIamDisabled": True, **service}
        request = run_v2.CreateServiceRequest(
            parent=PARENT, service_id=self.bench.name, service=message(body)
        )
        self.api.create_service(request).result(60, polling=FAST)

    def update(self, **service: Any) -> None:
        body = {**(self.bench.service() or {}), **service}
        kept = {key: body[key] for key in ("name", "template", "traffic", "scaling") if key in body}
        kept["invokerIamDisabled"] = True
        self.api.update_service(run_v2.UpdateServiceRequest(service=message(kept))).result(
            60, polling=FAST
        )

    def adopt(self, *words: str, code: int = 0) -> Any:
        place = f"local/local1/{self.bench.name}"
        argv = ("-o", "json", "adopt", place, "--emulator", self.bench.url, *words)
        result = bare(self.bench, *argv)
        assert result.code == code, f"{result.code}\n{result.out}\n{result.err}"
        return result.json

    def write(self, *words: str, code: int = 0) -> Any:
        """Adopt into the fleet file of the bench, which names no other file then."""
        return self.adopt("--write", str(self.bench.file), *words, code=code)

    @property
    def declared(self) -> dict[str, Any]:
        """The service as the fleet file has it now."""
        tree = yaml.safe_load(self.bench.file.read_text())
        found: dict[str, Any] = tree["services"][self.bench.name]
        return found


def bare(bench: Bench, *words: str) -> Result:
    """meshctl in the folder of a bench, without -f: there may be no fleet file yet."""
    done = subprocess.run(
        [sys.executable, "-m", "meshctl", *words], capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL, cwd=bench.folder,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def message(body: dict[str, Any]) -> Any:
    return run_v2.Service(ParseDict(body, run_v2.Service.pb()(), ignore_unknown_fields=True))


def image_of(bench: Bench) -> str:
    """What the build of the bench pushed."""
    return f"local1-docker.pkg.dev/local/bench/small@{bench.json('build', 'small')['digest']}"


@pytest.fixture
def strange(bench: Bench) -> Iterator[Strange]:
    made = Strange(bench)
    bench.file.unlink()
    yield made


def newest(bench: Bench) -> str:
    return str((bench.service() or {})["latestReadyRevision"]).rpartition("/")[2]


def made_bucket(strange: Strange) -> str:
    """A bucket that is called like the service."""
    name = strange.bench.name
    assert call(strange.bench.url, "POST", "/storage/v1/b?project=local", {"name": name})[0] == 200
    return name


def plain(strange: Strange) -> None:
    strange.create()


def pinned_with_a_tag(strange: Strange) -> None:
    strange.create()
    first = newest(strange.bench)
    rows = [
        {"type": REVISION, "revision": first, "percent": 100},
        {"type": LATEST, "tag": "next"},
    ]
    strange.update(template=strange.template(timeout="60s"), traffic=rows)


def both_levels(strange: Strange) -> None:
    template = strange.template(
        scaling={"maxInstanceCount": 3}, maxInstanceRequestConcurrency=7, timeout="45s"
    )
    strange.create(template, scaling={"minInstanceCount": 1})


def odd_probe(strange: Strange) -> None:
    probe = {"tcpSocket": {"port": 9000}, "periodSeconds": 7, "timeoutSeconds": 3}
    container = {"ports": [{"containerPort": 9000}], "startupProbe": probe}
    strange.create(strange.template(container=container))


def half_a_processor(strange: Strange) -> None:
    resources = {"limits": {"cpu": "0.5", "memory": "256Mi"}, "startupCpuBoost": True,
                 "cpuIdle": True}  # fmt: skip
    environment = "EXECUTION_ENVIRONMENT_GEN1"
    template = strange.template(
        container={"resources": resources}, maxInstanceRequestConcurrency=1,
        executionEnvironment=environment, serviceAccount="runner@local.iam.gserviceaccount.com",
    )  # fmt: skip
    strange.create(template)


SHAPES = (plain, pinned_with_a_tag, both_levels, odd_probe, half_a_processor)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_adopt_then_plan_is_empty(strange: Strange, shape: Callable[[Strange], None]) -> None:
    shape(strange)

    adopted = strange.write()
    plan = strange.bench.json("plan", "--exit-code")

    assert (adopted["verdict"], adopted["text"]) == ("pass", "")
    assert plan["services"][0]["changes"] == []
    assert plan["services"][0]["steps"] == []


def test_secrets_models_and_peers_come_back_as_they_are_declared(strange: Strange) -> None:
    call(strange.bench.url, "PUT", "/emulator/settings", {"secrets": {"hub": {"3": "s3cret"}}})
    reference = {"secretKeyRef": {"secret": "hub", "version": "3"}}
    container = strange.template()["containers"][0]
    env = [
        *container["env"],
        *registry("m.gguf"),
        {"name": "MESH_FEDERATION_PEERS", "value": "b=https://b.example|big|0|2"},
        {"name": "TOKEN", "valueSource": reference},
    ]
    strange.create(strange.template(container={"env": env}))

    adopted = strange.write()

    payload = yaml.safe_load(strange.bench.file.read_text())["payloads"]["tiny"]
    assert strange.declared["env"]["TOKEN"] == {"secret": "hub", "version": "3"}
    assert strange.declared["models"] == {"small": {"payload": "tiny"}}
    assert strange.declared["env"]["COLOUR"] == "a $${b} c"
    assert strange.declared["env"].keys() == {"MODE", "COLOUR", "TOKEN"}
    assert payload == {
        "source": f"image:{strange.image}", "files": {"m.gguf": {"bytes": 5, "sha256": "4" * 64}}
    }  # fmt: skip
    assert strange.declared["role"] == "coordinator"
    assert adopted["peers"] == ["b"]
    closed = strange.bench.events(adopted["run"])[-1]["data"]
    assert closed["peers"] == "b=https://b.example|big|0|2"
    assert strange.bench.json("plan", "--exit-code")["services"][0]["changes"] == []


def test_mounted_payloads_and_the_latest_secret_come_back_as_they_are_declared(
    strange: Strange,
) -> None:
    call(strange.bench.url, "PUT", "/emulator/settings", {"secrets": {"hub": {"3": "s3cret"}}})
    bucket = made_bucket(strange)
    reference = {"secretKeyRef": {"secret": "hub", "version": "latest"}}
    container = {
        "env": [
            *strange.template()["containers"][0]["env"],
            *registry("m.gguf"),
            {"name": "MESH_MODELS_DIR", "value": "/models"},
            {"name": "TOKEN", "valueSource": reference},
        ],
        "volumeMounts": [{"name": "v", "mountPath": "/models/tiny"}],
    }
    gcs = {"bucket": bucket, "readOnly": True, "mountOptions": ["only-dir=made/tiny"]}
    generation = {"executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2"}
    strange.create(
        strange.template(container=container, volumes=[{"name": "v", "gcs": gcs}], **generation)
    )

    adopted = strange.write()

    payload = yaml.safe_load(strange.bench.file.read_text())["payloads"]["tiny"]
    assert payload["source"] == f"gs://{bucket}/made/tiny/m.gguf"
    assert strange.declared["deliver"] == "mount"
    assert strange.declared["env"].keys() == {"MODE", "COLOUR", "TOKEN"}
    assert strange.declared["env"]["TOKEN"] == {
        "secret": "hub", "version": "latest", "allow_latest": True
    }  # fmt: skip
    assert any("env.TOKEN follows the latest" in note for note in adopted["notes"])
    plan = strange.bench.json("plan", "--exit-code")["services"][0]
    assert (plan["changes"], plan["steps"]) == ([], [])


def registry(*files: str) -> list[dict[str, str]]:
    """One model of one payload, as meshctl writes it."""
    entries = [{"bytes": 5, "path": name, "sha256": "4" * 64} for name in files]
    models = [{"default": True, "files": entries, "id": "small", "payload": "tiny"}]
    return [
        {"name": "MESH_MODELS", "value": json.dumps(models, separators=(",", ":"))},
        {"name": "MESH_DEFAULT_MODEL", "value": "small"},
    ]


def test_a_registry_of_another_make_stays_a_plain_variable(strange: Strange) -> None:
    env = [*strange.template()["containers"][0]["env"],
           {"name": "MESH_MODELS", "value": '[{"id": "small", "url": "gs://x/y"}]'}]  # fmt: skip
    strange.create(strange.template(container={"env": env}))

    adopted = strange.write()

    assert "MESH_MODELS" in strange.declared["env"]
    assert any("MESH_MODELS is not as meshctl writes it" in note for note in adopted["notes"])
    assert strange.bench.json("plan", "--exit-code")["services"][0]["changes"] == []


def two_containers(strange: Strange) -> None:
    listening = {"ports": [{"containerPort": 8080}]}
    beside = {"name": "side", "image": strange.image}
    strange.create(strange.template(container=listening, containers=[beside]))


def waits_first(strange: Strange) -> None:
    probe = {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 1, "periodSeconds": 9,
             "timeoutSeconds": 2}  # fmt: skip
    strange.create(strange.template(container={"startupProbe": probe}))


def split_in_two(strange: Strange) -> None:
    strange.create()
    first = newest(strange.bench)
    strange.update(template=strange.template(timeout="60s"))
    strange.bench.shift({first: 90, newest(strange.bench): 10})


def a_volume_of_its_own(strange: Strange) -> None:
    bucket = made_bucket(strange)
    container = {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}
    gcs = {"bucket": bucket, "readOnly": True}
    environment = "EXECUTION_ENVIRONMENT_GEN2"
    strange.create(
        strange.template(
            container=container, volumes=[{"name": "v", "gcs": gcs}],
            executionEnvironment=environment,
        )
    )  # fmt: skip


def many_at_once(strange: Strange) -> None:
    """What would be lost, in the revision and in the template alone, beside what would stay."""
    template = strange.template(container={"workingDir": "/"}, healthCheckDisabled=True)
    strange.create(template, ingress="INGRESS_TRAFFIC_INTERNAL_ONLY")


UNSAYABLE = {
    many_at_once: "workingDir (/); healthCheckDisabled (true); beside it these would stay as they "
    "are: ingress (INGRESS_TRAFFIC_INTERNAL_ONLY); invokerIamDisabled (true)",
    a_volume_of_its_own: "no payload of MESH_MODELS",
    two_containers: "containers[1] (side)",
    waits_first: "startupProbe.initialDelaySeconds (1)",
    split_in_two: "traffic is split",
}


@pytest.mark.parametrize("shape", UNSAYABLE, ids=lambda shape: shape.__name__)
def test_what_a_fleet_file_cannot_say_is_named_and_nothing_is_written(
    strange: Strange, shape: Callable[[Strange], None]
) -> None:
    shape(strange)

    refused = strange.write(code=8)

    assert UNSAYABLE[shape] in refused["message"]
    assert not strange.bench.file.exists()
    assert [run for run in strange.bench.runs() if strange.bench.name in run] == []


def test_what_others_hung_on_the_template_outlives_every_release(strange: Strange) -> None:
    hung = {"labels": {"team": "search"}, "annotations": {"owner": "ana"}}
    strange.create(strange.template(container={"name": "engine"}, **hung))

    adopted = strange.write()
    text = strange.bench.file.read_text()
    strange.bench.file.write_text(text.replace("MODE: ok", "MODE: ok\n      NEW: '1'"))
    plan = strange.bench.json("plan")["services"][0]
    strange.bench.json("deploy", "-y")
    strange.bench.file.write_text(text.replace("MODE: ok", "MODE: ok\n      NEW: '2'"))
    strange.bench.json("deploy", "-y")

    assert "template.labels.team (search) stays as it is" in adopted["notes"]
    assert (
        "the new revision keeps what others set: labels team; annotations owner; container engine"
        in plan["notes"]
    )
    assert len(strange.bench.revisions()) == 3
    for revision in strange.bench.revisions():
        assert revision["labels"].get("team") == "search"
        assert revision["annotations"] == hung["annotations"]
        assert revision["containers"][0]["name"] == "engine"


def test_adopting_again_says_so_and_changes_nothing(strange: Strange) -> None:
    strange.create()
    first = strange.write()
    text, runs = strange.bench.file.read_text(), strange.bench.runs()

    again = strange.write()
    by_target = strange.bench.json("adopt", f"local/{strange.bench.name}")

    assert (again["known"], again["file"], again["run"]) == (True, None, first["run"])
    assert by_target["message"].endswith(f"is adopted already: release {first['release']} serves")
    assert (strange.bench.file.read_text(), strange.bench.runs()) == (text, runs)


def test_what_is_printed_is_a_fleet_file(strange: Strange) -> None:
    strange.create()
    place = f"local/local1/{strange.bench.name}"

    printed = bare(strange.bench, "adopt", place, "--emulator", strange.bench.url)
    strange.bench.file.write_text(printed.out)

    assert printed.code == 0
    assert strange.bench.json("plan", "--exit-code")["services"][0]["changes"] == []


def test_the_first_deploy_after_an_adoption_has_a_way_back(strange: Strange) -> None:
    strange.create()
    adopted = strange.write()
    text = strange.bench.file.read_text()
    strange.bench.file.write_text(text.replace("MODE: ok", "MODE: ok\n      NEW: '1'"))
    new = strange.bench.json("deploy", "-y")

    back = strange.bench.json("rollback", strange.bench.name, "-y")

    assert (new["from_release"], back["to_release"]) == (adopted["release"], adopted["release"])
    assert back["verdict"] == "pass"
    assert strange.bench.split() == {adopted["revision"]: 100}


def test_what_was_not_asked_is_unproven_and_no_rollback_goes_there(strange: Strange) -> None:
    strange.create()

    adopted = strange.write("--no-verify")
    refused = strange.bench.json("rollback", strange.bench.name, "-y", code=8)

    assert (adopted["verdict"], adopted["exit_code"]) == (None, 0)
    assert "no earlier release" in refused["message"]


def test_what_answers_badly_is_adopted_with_its_verdict(strange: Strange) -> None:
    env = [{"name": "MODE", "value": "lying"}]
    models = '[{"default":true,"id":"small"}]'
    env += [{"name": "MESH_MODELS", "value": models},
            {"name": "MESH_DEFAULT_MODEL", "value": "small"}]  # fmt: skip
    strange.create(strange.template(container={"env": env}))

    adopted = strange.write(code=9)

    assert (adopted["verdict"], adopted["exit_code"]) == ("fail", 9)
    assert strange.bench.json("plan", "--exit-code")["services"][0]["changes"] == []


def test_a_fleet_that_is_there_gets_an_entry_and_keeps_every_line(bench: Bench) -> None:
    strange = Strange(bench)
    text = bench.file.read_text().replace(bench.name, "another") + "# the end\n"
    bench.file.write_text(text)
    strange.create()

    strange.write("--key", "taken-over")

    rest = iter(bench.file.read_text().splitlines())
    assert all(line in rest for line in text.splitlines())
    tree = yaml.safe_load(bench.file.read_text())
    assert tree["services"]["taken-over"]["name"] == bench.name
    assert tree["services"]["taken-over"]["target"] == "local"
    assert bench.json("plan", "taken-over", "--exit-code")["services"][0]["steps"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere/chat",), "nobody knows a target"),
        (("local/local1/no-such-service",), "no service named"),
        (("local/local1/Bad_Name",), "no name of a service"),
        (("a/b/c/d",), "does not say where"),
    ],
)
def test_a_place_that_is_none_is_a_usage_error(
    strange: Strange, words: tuple[str, ...], said: str
) -> None:
    emulator = ("--emulator", strange.bench.url) if "local1" in words[0] else ()

    wrong = bare(strange.bench, "-o", "json", "adopt", *words, *emulator)

    assert wrong.code == 64
    assert said in wrong.json["message"]


def test_without_a_file_the_next_step_is_to_write_one_and_with_it_nothing_is_left(
    strange: Strange,
) -> None:
    strange.create()

    printed = strange.adopt()["next"]
    written = strange.write()
    again = strange.write()

    place = f"local/local1/{strange.bench.name}"
    url = strange.bench.url
    assert printed == f"meshctl adopt {place} --emulator {url} --write meshctl.yaml"
    file = str(strange.bench.file)
    assert written["next"] == f"meshctl -f {file} plan {strange.bench.name}"
    assert (written["unchanged"], again["unchanged"]) == (None, file)


def test_with_no_journal_the_older_release_is_told_by_its_label_and_once(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    bench.deploy("chat")
    shutil.rmtree(bench.folder / ".meshctl/state/runs")

    older = bench.json("adopt", f"local/{bench.name}")["older"]
    bench.json("rollback", "-y", "chat")
    releases = [one["release"] for one in bench.json("history", "chat")["releases"]]

    assert [one["known"] for one in older] == ["passed by its label"]
    assert sorted(set(releases)) == sorted(releases)


def test_without_credentials_the_other_places_are_named(bench: Bench) -> None:
    nowhere = {"GOOGLE_APPLICATION_CREDENTIALS": str(bench.folder / "none.json")}

    told = bench.json("adopt", "p-1/us-central1/chat", code=6, **nowhere)

    assert "--emulator URL" in told["hint"] and "TARGET/chat" in told["hint"]
