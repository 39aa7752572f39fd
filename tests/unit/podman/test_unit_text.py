"""Words in units arrive as they are, through quadlet and through systemd alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.errors import Refused
from meshctl.plan.unit_text import LONGEST, Entry, quoted, raw, read, words, write
from tests.fakes import systemd_syntax as systemd

NASTY = (
    "plain",
    "",
    " two  words ",
    "a'b\"c",
    "50%",
    "%h %%",
    "$HOME ${X} $$",
    "l1\nl2\n",
    "end\\",
    "\t\r\x07\x7f",
    "grüße 日本 🎈",
    "\\n",
    "#;",
    "a=b",
)
CARRIED = st.text(
    st.one_of(
        st.sampled_from("%$\\\"' \n\t\r#;=abn{}x0"),
        st.characters(
            exclude_categories=["Cs"],
            exclude_characters=["\0", "\x80", *(chr(c) for c in range(0xFDD0, 0xFDF0))]
            + [chr(plane * 0x10000 + low) for plane in range(17) for low in (0xFFFE, 0xFFFF)],
        ),
    )
)


@pytest.mark.parametrize("text", NASTY)
def test_a_value_in_a_quadlet_arrives_as_it_is(text: str) -> None:
    line = quoted(f"NAME={text}", dollar=True)

    assert "\n" not in line
    assert systemd.through_quadlet(line) == [f"NAME={text}"]


@given(st.lists(CARRIED.filter(lambda text: text not in ("", ";")), max_size=5))
def test_arguments_arrive_through_quadlet(texts: list[str]) -> None:
    value = " ".join(quoted(text, dollar=True) for text in texts)

    assert systemd.through_quadlet(value) == texts


@given(st.lists(CARRIED, max_size=5))
def test_arguments_arrive_through_systemd_alone(texts: list[str]) -> None:
    value = " ".join(quoted(text, dollar=True) for text in texts)

    assert systemd.command_line(value) == texts


@given(CARRIED)
def test_a_variable_of_a_plain_unit_keeps_its_dollars(text: str) -> None:
    word = systemd.split(quoted(f"NAME={text}", dollar=False))

    assert [systemd.specifiers(each) for each in word] == [f"NAME={text}"]


@pytest.mark.parametrize("text", ["a\0b", "\x80", "\ufdd0", "\uffff", "\U0001fffe", "\ud800"])
def test_what_no_unit_file_can_carry_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(Refused, match=r"U\+[0-9A-F]{4}") as refused:
        quoted(f"hunter2{text}", dollar=True)

    assert "hunter2" not in str(refused.value) + refused.value.hint


def test_a_word_longer_than_linux_hands_on_is_refused() -> None:
    assert quoted("a" * LONGEST, dollar=True)

    with pytest.raises(Refused, match="131072 bytes"):
        quoted("a" * (LONGEST + 1), dollar=True)


@pytest.mark.parametrize("text", [" a", "a ", "a\nb", "a\\"])
def test_a_bare_value_that_would_be_cut_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="cannot stand in a quadlet"):
        raw(text)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(entry.key == entry.key.strip() for entry in read(text))
    assert isinstance(words(text), tuple)


@given(st.lists(CARRIED, max_size=5))
def test_words_are_read_back(texts: list[str]) -> None:
    value = " ".join(quoted(text, dollar=False) for text in texts)

    assert [word.replace("%%", "%") for word in words(value)] == texts


def test_a_file_is_read_as_systemd_reads_it() -> None:
    text = "# c\n[A]\nK = v \\\n; comment inside\n  w\n\n[B]\nno assignment\nK=\nL=a=b\\"

    assert read(text) == (Entry("A", "K", "v  w"), Entry("B", "K", ""), Entry("B", "L", "a=b"))
    assert read(write(read(text))) == read(text)
