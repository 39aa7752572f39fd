"""One document of each kind, with what is long, empty and unusual in it."""

from __future__ import annotations

from meshctl.plan.change import Change
from meshctl.plan.cost import Cost, CostChange, Warm
from meshctl.plan.prices import list_prices
from meshctl.plan.steps import Plan, Reason, RetireTag, Step
from meshctl.rollout.outcome import Outcome, StepRecord
from meshctl.state.evidence import Evidence, Verdict
from meshctl.ui import answers, federation, states, upkeep
from meshctl.ui import documents as ui
from meshctl.ui.costs import CostEntry, PriceSource, WarmEntry, amount

OLD, NEW = "r0a1b2c3d4e", "rf9e8d7c6b5"
IMAGE = "us-central1-docker.pkg.dev/my-project/mesh/moonshine@sha256:"
RUN = "chat.local.20261130T204512.7k2m"
URL = "https://chat-abcdefghij-uc.a.run.app"
TAG_URL = f"https://c-{NEW}---chat-abcdefghij-uc.a.run.app"

CHANGES = (
    Change(path="args", before="mesh", after="mesh --verbose"),
    Change(path="env.MESH_LOG", before="info", after="debug"),
    Change(path="env.TOKEN", before="secret hub version 3", after="secret hub version 4"),
    Change(path="env.EMPTY", before=None, after=""),
    Change(path="image", before=IMAGE + "1" * 64, after=IMAGE + "2" * 64),
)


def step(number: int, kind: str, text: str, undo: str) -> Step:
    act = RetireTag(tag="c", revision="chat-1")
    return Step.model_validate(
        {"id": f"{number:02}-{kind}", "kind": kind, "text": text, "undo": undo, "act": act}
    )


STEPS = (
    step(1, "stage", "the image is where gcp can take it, and both payload files have the size "
         "and the digest that the fleet file declares", ""),
    step(2, "place", f"chat-{NEW} beside the old one, tagged c-{NEW}, 0 %",
         "remove tag and revision"),
    step(3, "check", "ask the battery on the tag URL", ""),
    step(4, "shift", f"chat-{NEW} 100 %", f"chat-{OLD} 100 %, as it was found"),
    step(5, "retire", f"take the tag c-{NEW} away", ""),
)  # fmt: skip
PLAN = Plan(
    service="chat", target="gcp", name="chat", verb="deploy", strategy="beside", changes=CHANGES,
    steps=STEPS, from_release=OLD, to_release=NEW, revision=f"chat-{NEW}",
    notes=("the candidate keeps one GPU slot warm while it is tagged, which costs about as much "
           "as the one that serves",),
)  # fmt: skip
CHEAP = Cost(idle_instances=0, idle_usd_per_hour=0.0, full_instances=1, full_usd_per_hour=1.42092)
DEARER = PLAN.model_copy(
    update={
        "changes": (), "notes": (), "steps": (),
        "cost": CostChange(
            before=CHEAP, prices=list_prices("us-central1"),
            after=CHEAP.model_copy(update={
                "idle_instances": 1, "idle_usd_per_hour": 1.42092, "full_usd_per_hour": None,
                "warm": (Warm(revision=f"chat-{NEW}", tags=("c",), instances=1,
                              usd_per_hour=1.42092),)}),
        ),
    }
)  # fmt: skip
UP_TO_DATE = Plan(service="small", target="gcp", name="small", verb="deploy", strategy="none")
REFUSED = Plan(
    service="peer", target="gcp", name="peer", verb="deploy", strategy="beside",
    refused=(Reason(message="traffic of peer is pinned to peer-00007-abc by somebody else",
                    hint="carry on with --take-traffic, or go back to the newest revision with "
                         "`meshctl cutover peer --follow-latest`",
                    place="services.peer"),),
)  # fmt: skip

CHECKS = (
    Evidence(name="health", verdict="pass", seconds=0.12),
    Evidence(name="models", verdict="pass", seconds=0.4, flaky=True,
             why="failed once, then 5 of 5"),
    Evidence(name="chat_stream", verdict="fail", seconds=61.3,
             why="the first token came after 61.3 s, and 60 s are allowed by the key "
                 "rollout.token_deadline of the service",
             evidence={"first_token_s": 61.3}),
    Evidence(name="two_turns", verdict="unclear", seconds=30.0, why="the connection broke off"),
    Evidence(name="tools", verdict="skipped", why="no model has the capability tools"),
)  # fmt: skip
VERDICT = Verdict(verdict="fail", checks=CHECKS)


def records(*statuses: str) -> tuple[StepRecord, ...]:
    return tuple(
        StepRecord.model_validate(
            {"id": s.id, "kind": s.kind, "text": s.text, "status": status, "seconds": 0.0}
            | ({"seconds": 12.5} if status in ("done", "failed") else {})
        )
        for s, status in zip(STEPS, statuses, strict=True)
    )


DEPLOYED = Outcome(
    run=RUN, verb="deploy", service="chat", target="gcp", verdict="pass", exit_code=0,
    message=f"{NEW} serves and passed its battery on the public path",
    hint="to go back: `meshctl rollback chat`", from_release=OLD, to_release=NEW,
    revision=f"chat-{NEW}", url=URL, changes=CHANGES[:1], evidence=CHECKS[:2],
    traffic={f"chat-{NEW}": 100},
    steps=records("done", "done", "done", "done", "done"),
)  # fmt: skip
ROLLED_BACK = DEPLOYED.model_copy(
    update={
        "verdict": "fail", "exit_code": 3, "restored": True, "evidence": CHECKS,
        "traffic": {f"chat-{OLD}": 100},
        "message": "chat_stream failed before traffic moved; what served before serves",
        "hint": f"see `meshctl explain {RUN}`",
        "steps": records("done", "undone", "failed", "pending", "pending"),
    }
)  # fmt: skip
NEEDS_HUMAN = ROLLED_BACK.model_copy(
    update={
        "exit_code": 4, "restored": False, "hint": "", "evidence": (), "changes": (),
        "traffic": None,
        "message": "traffic could not be moved back: the cloud did not answer for 5 minutes",
        "left": (f"gcloud run services update-traffic chat --to-revisions chat-{OLD}=100",),
    }
)  # fmt: skip
UP_TO_DATE_ALREADY = Outcome(
    run="", verb="deploy", service="chat", target="gcp", verdict=None, exit_code=0,
    message=f"chat is up to date: release {NEW} serves", from_release=NEW, to_release=NEW, url=URL,
)  # fmt: skip
CANARY = DEPLOYED.model_copy(
    update={
        "verb": "canary", "message": f"canary {NEW} passed at 0 %", "tag_url": TAG_URL,
        "hint": f"`meshctl cutover chat --revision chat-{NEW}` gives it traffic",
        "steps": records("done", "done", "done", "skipped", "skipped"), "evidence": (),
        "changes": (), "traffic": {f"chat-{OLD}": 100},
    }
)  # fmt: skip
STAYED = DEPLOYED.model_copy(
    update={
        "verb": "rollback", "verdict": "unclear", "exit_code": 4, "restored": False,
        "from_release": NEW, "to_release": OLD, "steps": (), "changes": (), "evidence": (),
        "traffic": {f"chat-{OLD}": 95, f"chat-{NEW}": 5}, "revision": f"chat-{OLD}",
        "message": f"rolled back to {OLD}, which did not prove itself: no answer",
        "hint": "`meshctl history chat`, then `meshctl rollback chat --to ID`",
    }
)  # fmt: skip
UNCLEAR = ROLLED_BACK.model_copy(
    update={
        "verdict": "unclear", "exit_code": 7, "restored": True, "tag_url": TAG_URL,
        "evidence": CHECKS[3:4], "changes": (),
        "steps": records("done", "done", "failed", "pending", "pending"),
        "message": "two_turns is unclear; the candidate is kept",
        "hint": "ask again with `meshctl resume chat`, or remove it with `meshctl abort chat`",
    }
)  # fmt: skip


def share(revision: str, percent: int, *, latest: bool = False) -> answers.ShareEntry:
    return answers.ShareEntry(revision=revision, percent=percent, latest=latest, tag=None)


STATUS = answers.Status(
    services=(
        answers.StatusEntry(
            name="chat", target="gcp", role="coordinator", state="READY",
            since="2026-11-30T20:45:12.345678Z", who="ada@desk (pid 7)", url=URL, pinned=False,
            release=OLD, drift=(), newest=answers.Newest(
                revision=f"chat-{OLD}", release=OLD, ready=True),
            serving=(answers.Serving(release=OLD, revision=f"chat-{OLD}", percent=100),),
            traffic=answers.TrafficEntry(
                desired=(share(f"chat-{OLD}", 100),), effective=(share(f"chat-{OLD}", 100),),
                new_revision_percent=0, modified_by=None),
            tags=(answers.TagEntry(tag="rollback", revision="chat-1", url=None),
                  answers.TagEntry(tag=f"c-{NEW}", revision=f"chat-{NEW}", url=TAG_URL)),
        ),
        answers.StatusEntry(
            name="chat-peer-with-a-long-name", target="gcp", role="peer", state="DEGRADED",
            since=None, who=None, url=None, pinned=True, release=OLD, tags=(),
            newest=answers.Newest(revision="chat-peer-00009-xyz", release=None, ready=False),
            serving=(answers.Serving(release=OLD, revision="chat-peer-00007-abc", percent=90),
                     answers.Serving(release=None, revision="chat-peer-00008-def", percent=10)),
            drift=(ui.ChangeEntry(path="scaling.min", from_="0", to="1"),),
            traffic=answers.TrafficEntry(
                desired=(share("chat-peer-00008-def", 100, latest=True),),
                effective=(share("chat-peer-00007-abc", 90), share("chat-peer-00008-def", 10)),
                new_revision_percent=100, modified_by="ada@example.com"),
            notes=("traffic is pinned by a stranger: `meshctl history` shows what meshctl wrote",),
        ),
        answers.StatusEntry(
            name="small", target="attic", role="standalone", state="UNKNOWN", since=None, who=None,
            url=None, pinned=None, release=None, serving=(), tags=(), newest=None, drift=(),
        ),
        answers.StatusEntry(
            name="planned", target="gcp", role="peer", state="STOPPED", since=None, who=None,
            url=None, pinned=None, release=None, serving=(), tags=(), newest=None,
            drift=(ui.ChangeEntry(path="service", from_="declared", to=None),),
        ),
    )
)  # fmt: skip
HISTORY = answers.History(
    releases=(
        answers.HistoryEntry(
            release=NEW, revision=f"chat-{NEW}", run=RUN, verb="deploy",
            at="2026-11-30T20:45:12.345678Z",
            who="ada@desk", commit="0123456789abcdef", dirty=True, verdict="pass", serving=True,
            rollback_to=False),
        answers.HistoryEntry(
            release=OLD, revision="chat-00007-abc", run=None, verb="deploy",
            at="2026-11-29T08:00:00.000000Z",
            who="ada@desk", commit="fedcba9876543210", dirty=False, verdict="pass", serving=False,
            rollback_to=True),
        answers.HistoryEntry(
            release="r1111111111", revision=None, run=None, verb=None, at=None, who=None,
            commit=None, dirty=None, verdict=None, serving=False, rollback_to=False),
    ),
    chain=(NEW, OLD),
    notes=("run chat.local:local1.20261128T100000000000.aaaa cannot be read",),
)  # fmt: skip
ADOPTED = answers.Adopt(
    service="chat", target="gcp", name="chat", release=OLD, revision="chat-00007-abc",
    verdict="pass", exit_code=0, run=RUN, known=False, file="meshctl.yaml", text="",
    peers=("b",), message=f"adopted chat, release {OLD}: it passed, and a rollback can go to it",
    older=(
        answers.OlderRevision(revision="chat-00006-xyz", release=NEW,
                              created="2026-11-29T08:00:00.000000Z", tags=("next", "old"),
                              known="passed by its label"),
        answers.OlderRevision(revision="chat-00005-uvw", release="r1111111111", created=None,
                              tags=(), known="unproven"),
    ),
    next="meshctl plan chat",
    notes=("ingress (INGRESS_TRAFFIC_INTERNAL_ONLY) stays as it is",),
)  # fmt: skip
PEERS = federation.Peers(
    peers=(
        federation.PeerRow(
            name="chat-peer-a", coordinator="chat", target="gcp", declared=True, announced=True,
            recorded=True, verdict="pass", models=("qwen3-8b-q4k", "qwen3"), priority=0, weight=1,
            url="https://chat-peer-a-abcdefghij-uc.a.run.app", min_instances=0, drift=()),
        federation.PeerRow(
            name="chat-peer-b", coordinator="chat", target="gcp", declared=True, announced=False,
            recorded=False, verdict=None, models=("gemma",), priority=None, weight=None, url=None,
            min_instances=None, drift=("not observed: the cloud did not answer",)),
    ),
    notes=("chat-peer-b is not proved and is not announced: `meshctl peer add chat-peer-b`",),
    delete="gcloud run services delete chat-peer-b --region us-central1 --project my-project",
)  # fmt: skip
EXPLAIN = answers.Explain(
    run=RUN, service="chat", target="gcp", verb="deploy", who="ada@desk (pid 7)", verdict="fail",
    exit_code=3, from_release=OLD, to_release=NEW,
    events=(
        answers.ExplainEvent(at="2026-11-30T20:45:12.345678Z", event="opened", step=None,
                             text="5 steps, beside, no outage"),
        answers.ExplainEvent(at="2026-11-30T20:46:00.000000Z", event="failed", step="03-check",
                             text="chat_stream: the first token came after 61.3 s, and 60 s are "
                                  "allowed"),
        answers.ExplainEvent(at="2026-11-30T20:46:01.000000Z", event="closed", step=None, text=""),
    ),
    next=("meshctl deploy chat",),
)  # fmt: skip
LOCKS = answers.Locks(
    locks=(
        answers.LockEntry(service="chat", target="gcp", state="held", who="ada@desk (pid 7)",
                          since="2026-11-30T20:45:12.345678Z", what="deploy", run=RUN),
        answers.LockEntry(service="small", target="attic", state="free"),
    )
)  # fmt: skip
VALIDATE = ui.Validate(
    errors=(
        ui.ErrorEntry(place="meshctl.yaml:12:5", path="services.chat.image",
                      message='no image named "mehs"', hint='did you mean "mesh"?'),
        ui.ErrorEntry(place="meshctl.yaml:14:5", path="services.chat.scaling.concurrency",
                      message="2000 is out of range: it must be at least 1 and at most 1000",
                      hint=""),
    )
)  # fmt: skip
DEMO = answers.Demo.of(
    scenes=(
        answers.DemoScene(name="first deploy", command="meshctl deploy chat --yes", exit_code=0,
                          expected_exit_code=0, seconds=4.2),
        answers.DemoScene(name="a release with a lying health check",
                          command="meshctl deploy chat --yes", exit_code=0, expected_exit_code=3,
                          seconds=71.0),
    ),
    client=answers.DemoClient(requests=214, failed=1, longest_gap_s=1.25),
)  # fmt: skip
BUILD = ui.Build(
    image=IMAGE.split("@")[0], tag="mesh-fast-v9", digest="sha256:" + "2" * 64,
    build="4f8c2c1e-0000-4000-8000-000000000000", bytes=2_800_000_000, reused=False,
)  # fmt: skip
LISTED = PriceSource(as_of="2026-09-28", source="https://cloud.google.com/run/pricing")
NOTHING, ONE, THREE = amount(0, 0.0), amount(1, 1.42092), amount(3, 4.26276)
DEAR = CostEntry(
    idle=ONE, full=THREE, assumed=True,
    warm=(WarmEntry(revision=f"chat-{NEW}", tags=(f"c-{NEW}",), instances=1, usd_per_hour=1.42092,
                    usd_per_month=1037.27),),
)  # fmt: skip
COST = upkeep.Cost(
    services=(
        upkeep.ServiceCost(name="chat", target="gcp", cost=DEAR, notes=()),
        upkeep.ServiceCost(
            name="chat-peer-with-a-long-name", target="gcp", notes=(),
            cost=CostEntry(idle=NOTHING, full=amount(1, None), warm=(), assumed=False)),
        upkeep.ServiceCost(name="planned", target="gcp", cost=None, notes=("not deployed",)),
    ),
    idle=amount(2, 2.84184), full=amount(5, None), prices=(LISTED,),
)  # fmt: skip
GC = upkeep.Gc(
    exit_code=0, looked_at=upkeep.LookedAt(services=2, not_deployed=1, revisions=7, tags=3),
    tags=(
        upkeep.StaleTag(
            service="chat", target="gcp", tag=f"c-{NEW}", revision=f"chat-{NEW}", release=NEW,
            verdict="stale", status="found", ours=True, warm_instances=1, usd_per_hour=1.42092,
            why="no traffic, no open run, and no rollback goes there",
            command=f"meshctl gc chat --tag c-{NEW} --yes"),
        upkeep.StaleTag(
            service="chat", target="gcp", tag="old", revision="chat-1", release=None,
            verdict="stale", status="removed", ours=True, warm_instances=0, usd_per_hour=0.0,
            why="no traffic, no open run, and no rollback goes there",
            command="meshctl gc chat --tag old --yes"),
        upkeep.StaleTag(
            service="chat", target="gcp", tag="live", revision=f"chat-{OLD}", release=OLD,
            verdict="kept", status="found", ours=False, warm_instances=0, usd_per_hour=0.0,
            why="serves 100 %", command=""),
    ),
    services=(
        upkeep.StaleService(
            name="chat-peer-from-last-year", target="gcp", verdict="unknown", status="found",
            why="in no fleet file; whether anybody asks it is unknown (the caller may not use "
                "monitoring.timeSeries.list)",
            image=IMAGE + "1" * 64, gpu="nvidia-l4", created="2025-11-30T20:45:12.345678Z",
            last_traffic=None, idle=ONE,
            command="meshctl gc chat-peer-from-last-year --services --stale --yes"),
    ),
    runs=(RUN,), notes=("small/gcp: locked by ada@desk",), prices=(LISTED,),
)  # fmt: skip

STATE = states.State(
    place="gs://my-bucket/meshctl",
    endpoint="https://storage.googleapis.com",
    proved="2026-11-30T20:45:12.345678Z",
    services=2,
    runs=3,
    events=41,
    builds=2,
    others=4,
    bytes=120_000,
    locks=(
        states.StateLock(
            site="my-project:us-central1",
            service="chat",
            state="frozen",
            who="ada@desk",
            since="2026-11-30T20:45:12.345678Z",
            what="audit until Monday",
        ),
    ),
    problems=(
        states.StateProblem(
            place="runs/chat.my-project:us-central1.20261130T204512345678.7k2m",
            message="events are missing: 3",
            hint="restore the object, or work by hand from `meshctl status`",
        ),
    ),
)
MIGRATION = states.Migration(
    place=".meshctl/state",
    runs=("chat.my-project:us-central1.20261130T204512345678.7k2m",),
    events=14,
    locks=("locks/gcp/chat.json",),
)
