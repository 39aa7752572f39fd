"""Playing scenes on a scripted stage: when it stops, what it tells and where."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from meshctl.cli.demo.client import Client
from meshctl.cli.demo.folder import Folder
from meshctl.cli.demo.play import play_scenes
from meshctl.cli.demo.question import PATH
from meshctl.cli.demo.scene import Scene
from meshctl.cli.demo.stage import Stage
from meshctl.cli.demo.typed import typed
from meshctl.errors import Interrupted
from meshctl.outside.clock import SystemClock
from meshctl.outside.cloudrun import RestCloudRun
from meshctl.outside.environment import environment
from meshctl.outside.gcp import Calls, Cloud
from meshctl.outside.interrupts import Interrupts
from meshctl.outside.who import process_start
from meshctl.ui.output import Output
from tests.fakes.fake_http import FakeHttp, answer

TOP = Path(__file__).parents[3]
HELLO = {"choices": [{"message": {"content": "Hi"}}]}


@dataclass(frozen=True)
class Scripted:
    """An act that ends as it was told to."""

    code: int = 0
    lines: tuple[str, ...] = ("✓ told", "not told")
    then: Callable[[Stage], None] = lambda stage: None

    def text(self, stage: Stage) -> str:
        return f"meshctl scripted {self.code}"

    def play(self, stage: Stage) -> tuple[int, list[str]]:
        self.then(stage)
        return self.code, list(self.lines)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Everything real that needs no cloud; the client's answers are scripted."""
    folder = Folder(tmp_path / "demo")
    folder.furnish()
    clock, http = SystemClock(), FakeHttp({f"POST {PATH}": [answer(200, HELLO)]})
    return Stage(
        folder=folder,
        environ=environment() | {"PYTHONPATH": str(TOP), "MESHCTL_FLEET": str(folder.fleet)},
        api=RestCloudRun(Cloud("local", "local1", "http://127.0.0.1:9"), Calls()),
        client=Client(http, clock),
        http=http,
        clock=clock,
        output=Output("table", io.StringIO(), io.StringIO(), io.StringIO()),
        interrupts=Interrupts(),
    )


def story(stage: Stage) -> str:
    assert isinstance(stage.output.stderr, io.StringIO)
    return stage.output.stderr.getvalue()


def open_service(stage: Stage) -> None:
    stage.client.start("http://127.0.0.1:9")


def test_scenes_that_end_as_expected_and_a_client_that_was_answered_are_a_good_demo(
    stage: Stage,
) -> None:
    scenes = (
        Scene("one", "First.", Scripted(then=open_service)),
        Scene("two", "Then.", Scripted(3), expected=3),
    )

    document = play_scenes(stage, scenes)

    assert document.ok
    assert [(s.name, s.command, s.exit_code) for s in document.scenes] == [
        ("one", "meshctl scripted 0", 0),
        ("two", "meshctl scripted 3", 3),
    ]
    assert document.client.requests >= 1


def test_the_first_scene_that_is_not_as_it_should_be_is_the_last_one(stage: Stage) -> None:
    scenes = (
        Scene("one", "First.", Scripted(then=open_service)),
        Scene("two", "Then.", Scripted(0), expected=3),
        Scene("three", "Never.", Scripted()),
    )

    document = play_scenes(stage, scenes)

    assert not document.ok
    assert [scene.name for scene in document.scenes] == ["one", "two"]
    assert "exit code 0 instead of 3" in story(stage)


def test_only_what_tells_is_told_unless_something_went_wrong(stage: Stage) -> None:
    play_scenes(stage, [Scene("one", "First.", Scripted())])
    well = story(stage)
    play_scenes(stage, [Scene("one", "First.", Scripted(1))])

    assert "✓ told" in well and "not told" not in well
    assert "not told" in story(stage)


def test_the_story_is_talk_and_leaves_stdout_to_the_document(stage: Stage) -> None:
    play_scenes(stage, [Scene("one", "First.", Scripted())])

    assert "$ meshctl scripted 0" in story(stage)
    assert isinstance(stage.output.stdout, io.StringIO)
    assert stage.output.stdout.getvalue() == ""


def test_the_fleet_file_is_changed_before_the_command_is_typed(stage: Stage) -> None:
    seen: list[str] = []
    act = Scripted(then=lambda stage: seen.append(stage.folder.fleet.read_text()))

    play_scenes(stage, [Scene("one", "First.", act, change={"services.chat.args": ["mesh", "-x"]})])

    assert "- -x" in seen[0]
    assert 'services.chat.args = ["mesh", "-x"]' in story(stage)


def test_asked_to_stop_it_plays_no_further_scene(stage: Stage) -> None:
    def stop(stage: Stage) -> None:
        stage.interrupts.count += 1

    scenes = (Scene("one", "First.", Scripted(then=stop)), Scene("two", "Never.", Scripted()))

    with pytest.raises(Interrupted):
        play_scenes(stage, scenes)

    assert "Never." not in story(stage)


def test_a_command_is_a_real_meshctl_with_its_code_and_its_words(stage: Stage) -> None:
    code, lines = typed(stage, ["validate"])
    wrong, told = typed(stage, ["deploy", "nobody", "--yes"])

    assert (code, wrong) == (0, 64)
    assert any("no service named 'nobody'" in line for line in told)
    assert lines


def test_a_command_that_is_killed_ends_with_137_and_the_kill_is_told(stage: Stage) -> None:
    code, lines = typed(stage, ["validate"], lambda: True)

    assert code == 137
    assert lines[-1].startswith("$ kill -9 ")
    assert process_start(int(lines[-1].split()[-1])) is None


def test_a_command_that_ended_before_it_could_be_killed_keeps_its_code(stage: Stage) -> None:
    def wait() -> bool:
        while any(process_start(pid) is not None for pid in children()):
            stage.clock.sleep(0.02)
        return True

    assert typed(stage, ["validate"], wait)[0] == 0


def test_whatever_ends_us_ends_the_command(stage: Stage) -> None:
    killed: list[int] = []

    def stop() -> bool:
        killed.extend(children())
        stage.interrupts.count += 1
        return False

    with pytest.raises(Interrupted):
        typed(stage, ["validate"], stop)

    assert killed
    assert [pid for pid in killed if process_start(pid) is not None] == []


def children() -> list[int]:
    """The processes that this thread started and nobody waited for yet."""
    thread = threading.get_native_id()
    return [int(pid) for pid in Path(f"/proc/self/task/{thread}/children").read_text().split()]
