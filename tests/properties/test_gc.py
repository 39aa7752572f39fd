"""gc never touches what serves, whatever is there and whatever is asked of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from meshctl.plan import traffic
from meshctl.plan.cost import seen_cost
from meshctl.plan.gc import Question, gc_plan, tags_found
from meshctl.plan.observed import LATEST, ServiceSeen, Share
from meshctl.plan.prices import list_prices
from meshctl.plan.steps import RetireTag
from meshctl.state.ledger import Ledger, Run
from meshctl.targets.cloudrun.edits import untagged
from tests.builders import ledger_run, revision, seen, split

NAMES = ("v1", "v2", "v3", "v4")
TAGS = ("a", "b", "c")


@st.composite
def services(draw: st.DrawFn) -> ServiceSeen:
    """Revisions of which some share the traffic and some have tags, LATEST among them."""
    known = [revision(name, name[1:]) for name in NAMES]
    serving = draw(st.lists(st.sampled_from((*NAMES, LATEST)), min_size=1, max_size=3, unique=True))
    shares = {name: 100 // len(serving) for name in serving}
    shares[serving[0]] += 100 - sum(shares.values())
    tags = draw(st.dictionaries(st.sampled_from(TAGS), st.sampled_from((*NAMES, LATEST))))
    rows = (*split(**shares), *(Share(revision=name, tag=tag) for tag, name in tags.items()))
    return seen(*known, traffic=rows, latest_ready=draw(st.sampled_from(NAMES)))


runs: st.SearchStrategy[Run] = st.builds(
    lambda name, verb, state, code: ledger_run(
        name, verb=verb, state=state, exit_code=code, served=verb == "deploy" and code == 0
    ),
    st.sampled_from(NAMES),
    st.sampled_from(["deploy", "canary", "cutover", "rollback", "verify", "gc"]),
    st.sampled_from(["open", "paused", "closed", "fenced"]),
    st.sampled_from([0, 3, 4]),
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    placed = st.tuples(st.sampled_from(TAGS), st.sampled_from(NAMES))
    return Question(
        "chat", "chat", "local", Ledger(runs=tuple(draw(st.lists(runs, max_size=4)))),
        ours=draw(st.frozensets(placed)), named=draw(st.frozensets(st.sampled_from(TAGS))),
    )  # fmt: skip


@given(services(), questions())
def test_gc_takes_no_tag_from_what_serves_nor_from_a_run_that_nobody_ended(
    there: ServiceSeen, question: Question
) -> None:
    found = tags_found(question, there, seen_cost(there, list_prices("us-central1")))
    run = question.ledger.unfinished
    serving = {row.revision for row in there.serving}

    for one in (tag for tag in found if tag.stale):
        assert there.resolve(one.revision) not in serving
        assert run is None or one.revision != run.revision


@given(services(), questions())
def test_after_gc_the_traffic_is_what_it_was_and_gc_finds_nothing_more(
    there: ServiceSeen, question: Question
) -> None:
    cost = seen_cost(there, list_prices("us-central1"))
    plan = gc_plan(question, there, tags_found(question, there, cost))
    after = there
    for step in plan.steps:
        assert isinstance(step.act, RetireTag)
        tags = {row.tag for row in after.traffic} - {step.act.tag}
        after = without(after, step.act)
        assert {row.tag for row in after.traffic} == tags | {None} & tags

    assert traffic.percents(after.traffic) == traffic.percents(there.traffic)
    assert not any(one.stale for one in tags_found(question, after, cost))


def without(there: ServiceSeen, act: RetireTag) -> ServiceSeen:
    """The service after the edit that the target writes."""
    assert untagged(there, act) is not None
    rows = traffic.without_tag(there.traffic, act.tag)
    return there.model_copy(update={"traffic": rows, "effective": rows})
