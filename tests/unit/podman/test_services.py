"""What stands and is kept on a host, read into releases."""

from __future__ import annotations

import hashlib
import json

import pytest

from meshctl.plan.release import release_of
from meshctl.plan.unit_template import marked, unit_template
from meshctl.targets.podman.exec_unit import exec_unit
from meshctl.targets.podman.quadlet import quadlet
from meshctl.targets.podman.readings.unit import last_begun
from meshctl.targets.podman.services import Place, read_places
from tests.unit.podman.made import IMAGE, unit

TOKEN = "@abcd"
ACTIVE = (
    "Id=small.service\nLoadState=loaded\nActiveState=active\nSubState=running\nNRestarts=0\n"
    "InvocationID=0123456789abcdef0123456789abcdef\nResult=success"
)


def text(**env: str) -> str:
    return quadlet(unit(ports=("7773:8080",), env=env))


def said(**sections: str) -> str:
    """An answer of the script; a section is named with `__` for `:`, its rc before a `|`."""
    parts = []
    for name, value in {**sections, "end": "0|"}.items():
        rc, _, body = value.partition("|")
        parts.append(f"\n{TOKEN} section {name.replace('__', ':')} {rc}\n{body}\n")
    return "".join(parts)


def place(*, standing: str = "", kept: dict[str, str] | None = None, **more: str) -> Place:
    given = {"unit__small": f"0|{ACTIVE}", **more}
    if standing:
        digest = hashlib.sha256(standing.encode()).hexdigest()
        given["standing__small__container"] = f"{digest}|{standing}"
    for name, body in (kept or {}).items():
        given[f"kept__small__{name}.container"] = f"1790000000|{body}"
    return read_places(said(**given), TOKEN, ("small",), "attic")["small"]


def test_what_stands_has_all_and_is_named_by_what_is_kept_of_it() -> None:
    one, two = (marked(text(V=v), f"r{v * 10}") for v in "12")

    found = place(standing=two, kept={"small-r1-aaaa": one, "small-r2-bbbb": two})

    assert found.seen is not None and found.standing is not None
    assert found.standing.revision == "small-r2-bbbb"
    assert [(row.revision, row.percent) for row in found.seen.serving] == [("small-r2-bbbb", 100)]
    assert found.seen.ready and found.seen.url == "http://attic:7773"


def test_a_text_that_nobody_keeps_gets_a_name_of_its_own() -> None:
    found = place(standing=text(V="9"), kept={"small-r1-aaaa": text(V="1")})

    assert found.standing is not None
    assert found.standing.revision.endswith("-found")


def test_a_release_is_named_by_its_text_and_never_by_its_mark() -> None:
    honest = release_of(unit_template(text(V="1"))).id

    found = place(standing=marked(text(V="1"), "rffffffffff"))

    assert found.seen is not None and found.seen.main is not None
    assert found.seen.main.release == honest


@pytest.mark.parametrize("render", [quadlet, exec_unit], ids=["quadlet", "plain"])
def test_marks_and_comments_rename_nothing(render: object) -> None:
    of = unit(of={"command": ["/bin/engine"], "args": ["$HOME 50%"]}, env={"A": "b c"})
    plain = render(of)  # type: ignore[operator]

    with_marks = marked(plain, "r0123456789")
    commented = "# by hand\n" + plain.replace("\n[Service]", "\n; why\n\n[Service]")

    assert release_of(unit_template(with_marks)).id == release_of(unit_template(plain)).id
    assert release_of(unit_template(commented)).id == release_of(unit_template(plain)).id
    assert unit_template(with_marks).environment["MESH_RELEASE"] == "r0123456789"


def test_what_a_unit_says_is_read_back_as_it_was_meant() -> None:
    of = unit(
        of={"command": ["/bin/engine", "a b"], "args": ["--x", "50% $HOME"]},
        env={"A": 'q"uote', "B": "two words"},
        ports=("7773:8080",),
    )

    template = unit_template(quadlet(of))

    assert template.image == IMAGE
    assert (template.command, template.args) == (("/bin/engine", "a b"), ("--x", "50% $HOME"))
    assert template.environment == {"A": 'q"uote', "B": "two words"}
    assert (template.probe.path, template.probe.failures) == ("/health", 600)


def test_an_image_that_is_gone_makes_a_release_one_that_nobody_can_go_back_to() -> None:
    """Its bytes may still lie there without its name: by that it is started."""
    digest = IMAGE.partition("@")[2]
    nameless = json.dumps([{"Id": "1" * 64, "Digest": digest, "RepoDigests": [], "Size": 1}])
    named = json.dumps([{"Id": "1" * 64, "Digest": digest, "RepoDigests": [IMAGE], "Size": 1}])

    gone = place(standing=text(), images=f"0|{nameless}")
    there = place(standing=text(), images=f"0|{named}")
    unasked = place(standing=text())

    assert gone.seen is not None and gone.seen.main is not None and gone.seen.main.failed
    assert there.seen is not None and there.seen.main is not None
    assert not there.seen.main.failed
    assert unasked.seen is not None and unasked.seen.main is not None
    assert not unasked.seen.main.failed


@pytest.mark.parametrize(
    ("active", "ready", "down", "reconciling"),
    [
        ("active", True, False, False),
        ("inactive", False, True, False),
        ("failed", False, False, False),
        ("activating", False, False, True),
    ],
)
def test_a_unit_that_does_not_run_still_has_its_place(
    active: str, ready: bool, down: bool, reconciling: bool
) -> None:
    states = ACTIVE.replace("ActiveState=active", f"ActiveState={active}")

    seen = place(standing=text(), unit__small=f"0|{states}").seen

    assert seen is not None
    assert (seen.ready, seen.down, seen.reconciling) == (ready, down, reconciling)
    assert len(seen.serving) == 1
    assert bool(seen.reason) == (active != "active")


def test_drop_ins_and_a_plain_unit_beside_a_quadlet_are_told() -> None:
    dropped = place(standing=text(), **{"drop-in__small__container": "0|/etc/x.d/a.conf"})
    both = place(standing=text(), standing__small__service="ab|[Service]\nExecStart=/bin/x")

    assert dropped.seen is not None and "/etc/x.d/a.conf" in dropped.seen.barred
    assert both.seen is not None and "hides" in both.seen.barred


def test_nothing_there_is_no_service_and_a_cut_answer_is_none_either() -> None:
    assert place().seen is None

    with pytest.raises(ValueError, match="cut"):
        read_places(f"\n{TOKEN} section unit:small 0\n", TOKEN, ("small",), "attic")


def test_labels_that_are_no_labels_are_passed_over() -> None:
    labels = json.dumps({"meshctl-r0123456789": "pass_m0_1", "Bad Key": "x", "n": 5})

    told = place(standing=text(), labels__small=f"0|{labels}").seen
    broken = place(standing=text(), labels__small="0|[1").seen

    assert told is not None and told.labels == {"meshctl-r0123456789": "pass_m0_1"}
    assert broken is not None and broken.labels == {}


FORMER = [
    "Starting small.service - small...",
    "error: CUDA out of memory",
    "Stopped small.service.",
]


def test_what_an_earlier_release_wrote_is_not_told_of_this_one() -> None:
    journal = [
        *FORMER,
        "Starting small.service - small, by meshctl...",
        "Started small.service - small, by meshctl.",
        "error: no such file",
        "small.service: Scheduled restart job, restart counter is at 1.",
        "Started small.service - small, by meshctl.",
        "error: no such file",
        "small.service: Scheduled restart job, restart counter is at 2.",
    ]

    told = last_begun("\n".join(journal))

    assert told.startswith("Starting small.service - small, by")
    assert "CUDA" not in told and told.count("no such file") == 2


def test_a_start_that_goes_well_is_not_told_of_the_loop_before_it() -> None:
    told = last_begun("\n".join([*FORMER, "Started small.service - small, by meshctl.", "ready"]))

    assert told == "Started small.service - small, by meshctl.\nready"


def test_a_journal_without_a_start_is_told_whole() -> None:
    assert last_begun("a\nb") == "a\nb"
