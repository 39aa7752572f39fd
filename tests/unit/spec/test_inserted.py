"""Entries go into a fleet file as added text; all that stood there stays."""

from __future__ import annotations

import pytest
import yaml

from meshctl.errors import Refused
from meshctl.spec.inserted import fleet_text, fragment_text, inserted

FILE = "meshctl.yaml"
TEXT = """\
# the fleet of the house
meshctl: 1
fleet: house   # its name
images:
    one: {ref: a}

# what runs
services:
  chat:   # the first one
    image: one

# the places
targets:
  gcp: {kind: cloudrun}
"""
NEW = {"images": {"two": {"ref": "b"}}, "services": {"small": {"image": "two", "args": ["a: b"]}}}


def test_every_line_that_stood_there_still_stands_in_its_order() -> None:
    result = inserted(TEXT, FILE, NEW)

    rest = iter(result.splitlines())
    assert all(line in rest for line in TEXT.splitlines())


def test_an_entry_goes_to_the_end_of_its_section_in_the_section_s_own_indent() -> None:
    lines = inserted(TEXT, FILE, NEW).splitlines()

    assert lines[lines.index("    one: {ref: a}") + 1] == "    two:"
    assert lines[lines.index("    image: one") + 1] == "  small:"
    assert lines[lines.index("# the places") - 1] == ""


def test_what_was_put_in_is_read_back() -> None:
    tree = yaml.safe_load(inserted(TEXT, FILE, NEW))

    assert tree["services"]["small"] == NEW["services"]["small"]
    assert tree["images"] == {"one": {"ref": "a"}, "two": {"ref": "b"}}


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n# bye\n", "\n...\n"])
def test_a_section_that_is_missing_is_added_at_the_end(end: str) -> None:
    result = inserted("meshctl: 1\nfleet: f" + end, FILE, NEW)

    assert yaml.safe_load(result)["images"] == NEW["images"]
    assert end.strip() in result


def test_a_section_without_entries_gets_its_first() -> None:
    result = inserted("services:   # none yet\nmeshctl: 1\n", FILE, {"services": {"a": {"b": 1}}})

    assert result == "services:   # none yet\n  a:\n    b: 1\nmeshctl: 1\n"


def test_windows_line_ends_stay() -> None:
    result = inserted(TEXT.replace("\n", "\r\n"), FILE, NEW)

    assert result.count("\n") == result.count("\r\n")


@pytest.mark.parametrize(
    "services",
    ["{}", "{chat: {image: one}}", "~", "&a\n  x: {b: 1}\nother: *a", "|\n  text\n"],
)
def test_what_has_no_end_to_append_to_is_refused_with_its_place(services: str) -> None:
    text = f"meshctl: 1\nservices: {services}\n"
    section = "other" if "other" in services else "services"

    with pytest.raises(Refused, match=section) as refused:
        inserted(text, FILE, {section: {"small": {"a": 1}}})

    assert refused.value.place.startswith("meshctl.yaml:")


def test_a_key_that_is_there_is_never_written_over() -> None:
    with pytest.raises(Refused, match=r"services\.chat is there already") as refused:
        inserted(TEXT, FILE, {"services": {"chat": {}}})

    assert refused.value.place == "meshctl.yaml:9:3"
    assert "--key" in refused.value.hint


def test_a_new_file_and_a_fragment_hold_the_same_entries() -> None:
    whole, part = fleet_text("house", NEW), fragment_text(NEW)

    assert yaml.safe_load(whole) == {"meshctl": 1, "fleet": "house", **NEW}
    assert whole.endswith(part)


def test_one_value_in_two_places_is_written_twice() -> None:
    shared = {"bytes": 1}

    text = fragment_text({"payloads": {"a": shared, "b": shared}})

    assert "&" not in text
    assert text.count("bytes: 1") == 2
