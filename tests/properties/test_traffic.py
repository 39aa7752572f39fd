"""The arithmetic of splits: always 100, tags untouched, and row by row what gcloud would write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.plan import traffic
from meshctl.plan.observed import LATEST, Share, Split
from tests.builders import seen, split
from tests.fakes import gcloud_traffic as gcloud

NAMES = ("v1", "v2", "v3", "v4", "v5")


TAGS = ("blue", "green", "c1")


@st.composite
def splits(draw: st.DrawFn) -> Split:
    """Percents that sum to 100 over some revisions."""
    names = draw(st.lists(st.sampled_from((*NAMES, LATEST)), min_size=1, unique=True))
    cuts = sorted(draw(st.lists(st.integers(0, 100), min_size=len(names) - 1,
                                max_size=len(names) - 1)))  # fmt: skip
    edges = [0, *cuts, 100]
    shares = {name: edges[n + 1] - edges[n] for n, name in enumerate(names)}
    return split(**{name: percent for name, percent in shares.items() if percent})


@st.composite
def written(draw: st.DrawFn) -> Split:
    """Rows as anybody may have left them: a revision in several rows, percent and tag in one."""
    plain = list(draw(splits()))
    marked = draw(st.lists(st.sampled_from(TAGS), max_size=3, unique=True))
    for tag in marked:
        at = draw(st.integers(-2, len(plain) - 1))
        if at >= 0 and not plain[at].tag:
            plain[at] = plain[at].model_copy(update={"tag": tag})
        else:
            plain.append(Share(revision=draw(names), tag=tag))
    return tuple(draw(st.permutations(plain)))


names = st.sampled_from((*NAMES, LATEST))
tags = st.dictionaries(st.sampled_from(TAGS), st.sampled_from(NAMES))
percents = st.integers(1, 100)


def rows(of: Split, tags: dict[str, str]) -> Split:
    return (*of, *(Share(revision=name, tag=tag) for tag, name in tags.items()))


def plainly(of: Split) -> gcloud.Rows:
    return [(row.revision, row.percent, row.tag) for row in of]


@given(written(), names, st.integers(0, 100))
def test_a_shift_writes_the_rows_that_gcloud_writes(found: Split, name: str, percent: int) -> None:
    serving = traffic.split(traffic.percents(found))
    alone = set(traffic.percents(found)) == {name}

    ours = traffic.with_percents(found, traffic.toward(serving, name, percent))

    if alone and percent != 100:  # gcloud refuses; there is nobody to give the rest to
        with pytest.raises(ValueError, match="add up"):
            gcloud.update_traffic(plainly(found), {name: percent})
        assert traffic.percents(ours) == {name: 100}
    else:
        assert plainly(ours) == gcloud.update_traffic(plainly(found), {name: percent})


@given(written(), names, percents)
def test_a_shift_done_twice_changes_nothing_more(found: Split, name: str, percent: int) -> None:
    once = traffic.toward(found, name, percent)

    assert traffic.toward(once, name, percent) == once


@given(written())
def test_following_the_latest_writes_the_rows_that_gcloud_writes(found: Split) -> None:
    ours = traffic.with_percents(found, traffic.split({LATEST: 100}))

    assert plainly(ours) == gcloud.update_traffic(plainly(found), {LATEST: 100})


@given(written(), st.sampled_from(TAGS), names)
def test_tags_are_set_and_removed_as_gcloud_does_it(found: Split, tag: str, name: str) -> None:
    on, off = traffic.with_tag(found, tag, name), traffic.without_tag(found, tag)

    assert plainly(on) == gcloud.set_tag(plainly(found), tag, name)
    assert plainly(off) == gcloud.remove_tag(plainly(found), tag)
    assert traffic.with_tag(on, tag, name) == on
    assert traffic.without_tag(off, tag) == off


@given(written())
def test_what_LATEST_stands_for_is_named_as_gcloud_names_it(found: Split) -> None:
    service = seen(traffic=found, latest_ready="v1")

    ours = traffic.with_percents(found, traffic.named(service))

    assert plainly(ours) == gcloud.no_traffic(plainly(found), "v1")


@given(written())
def test_what_a_new_revision_would_get_is_what_LATEST_has(found: Split) -> None:
    service = seen(traffic=found, latest_ready="v1")
    after = service.model_copy(update={"latest_ready": "new"})

    gets = traffic.percents(traffic.named(after)).get("new", 0)

    assert traffic.for_a_new_one(service) == gets
    assert f" {gets} %" in traffic.outlook(service)


@given(splits(), st.sampled_from(NAMES), percents)
def test_a_shift_always_sums_to_100_and_gives_what_was_asked(
    found: Split, name: str, percent: int
) -> None:
    to = traffic.toward(found, name, percent)

    alone = set(traffic.percents(found)) <= {name}
    assert sum(row.percent for row in to) == 100
    assert traffic.percents(to)[name] == (100 if alone else percent)
    assert set(traffic.percents(to)) <= {*traffic.percents(found), name}


@given(splits(), st.sampled_from(NAMES), percents)
def test_a_shift_takes_from_everybody_in_proportion(found: Split, name: str, percent: int) -> None:
    others = {n: share for n, share in traffic.percents(found).items() if n != name}
    total = sum(others.values())

    to = traffic.percents(traffic.toward(found, name, percent))

    for other, share in others.items() if percent < 100 else ():
        assert abs(to.get(other, 0) - share * (100 - percent) / total) < 1


@given(splits(), tags, splits())
def test_percents_and_tags_are_separate_concerns(
    found: Split, tags: dict[str, str], wanted: Split
) -> None:
    told = traffic.with_percents(rows(found, tags), wanted)

    assert traffic.percents(told) == traffic.percents(wanted)
    assert traffic.tags(told) == tags


@given(splits(), tags, st.sampled_from(["blue", "new"]), st.sampled_from(NAMES))
def test_a_tag_put_on_and_taken_off_moves_no_traffic(
    found: Split, tags: dict[str, str], tag: str, name: str
) -> None:
    on = traffic.with_tag(rows(found, tags), tag, name)
    off = traffic.without_tag(on, tag)

    assert traffic.tags(on) == {**tags, tag: name}
    assert traffic.tags(off) == {t: n for t, n in tags.items() if t != tag}
    assert traffic.percents(on) == traffic.percents(off) == traffic.percents(found)


@given(splits())
def test_the_named_split_never_follows_and_still_sums_to_100(found: Split) -> None:
    named = traffic.named(seen(traffic=found, latest_ready="v1"))

    assert LATEST not in traffic.percents(named)
    assert sum(row.percent for row in named) == 100


@pytest.mark.parametrize(
    ("found", "name", "percent", "to"),
    [
        # tried with gcloud: [A 100],[B tag canary] with --to-tags canary=10
        ({"A": 100}, "B", 10, {"A": 90, "B": 10}),
        ({"A": 100}, "B", 100, {"B": 100}),
        ({"A": 90, "B": 10}, "B", 50, {"A": 50, "B": 50}),
        # 33, 33, 34 scaled into 95: floors 31, 31, 32 leave one point for the largest fraction
        ({"A": 33, "B": 33, "C": 34}, "D", 5, {"A": 32, "B": 31, "C": 32, "D": 5}),
        # equal fractions: the smaller share first
        ({"A": 75, "B": 25}, "C", 50, {"A": 37, "B": 13, "C": 50}),
        # equal fractions and shares: the smaller name, LATEST last
        ({"LATEST": 50, "Z": 50}, "C", 5, {"LATEST": 47, "Z": 48, "C": 5}),
        # 10 and 90 of which a twentieth goes: 9.5 and 85.5, a tie that floats would decide
        ({"A": 90, "B": 10}, "C", 5, {"A": 85, "B": 10, "C": 5}),
        # a share that scales to nothing loses its row
        ({"A": 99, "B": 1}, "C", 99, {"A": 1, "C": 99}),
    ],
)
def test_shares_are_rounded_as_gcloud_rounds_them(
    found: dict[str, int], name: str, percent: int, to: dict[str, int]
) -> None:
    assert traffic.percents(traffic.toward(split(**found), name, percent)) == to


def test_rows_are_sorted_by_name_as_gcloud_writes_them() -> None:
    to = traffic.toward(split(v3=40, v1=50, LATEST=10), "v2", 20)

    assert [row.revision for row in to] == ["v1", "v2", "v3", LATEST]


def test_the_example_that_was_tried_with_gcloud_comes_out_row_by_row() -> None:
    """[A 100],[B tag canary] with --to-tags canary=10."""
    found = (*split(A=100), Share(revision="B", tag="canary"))

    ours = traffic.with_percents(found, traffic.toward(found, "B", 10))

    assert plainly(ours) == [("A", 90, None), ("B", 10, None), ("B", 0, "canary")]


def test_the_first_canary_on_a_service_that_follows_LATEST_comes_out_row_by_row() -> None:
    """`deploy --no-traffic --tag canary` on [LATEST 100], as it was tried with gcloud."""
    service = seen(traffic=split(LATEST=100), latest_ready="REV-OLD")

    kept = traffic.with_percents(service.traffic, traffic.named(service))
    ours = traffic.with_tag(kept, "canary", "REV-NEW")

    assert plainly(ours) == [("REV-OLD", 100, None), ("REV-NEW", 0, "canary")]


def test_a_row_with_percent_and_tag_becomes_two() -> None:
    both = (Share(revision="v1", percent=100, tag="blue"),)

    assert traffic.with_percents(both, split(v2=100)) == (
        Share(revision="v2", percent=100), Share(revision="v1", tag="blue"),
    )  # fmt: skip
