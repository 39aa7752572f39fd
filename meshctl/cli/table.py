"""Every command there is, as data: help is made from it without importing one of them. Pure.

To add a command: write a short function in a file of this package, and add a row here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One verb: `function` is MODULE:NAME; its docstring is the long help, `help` the short one."""

    name: str
    function: str
    help: str
    section: str = ""


@dataclass(frozen=True)
class Group:
    """Verbs about one noun."""

    name: str
    help: str
    section: str
    commands: tuple[Command, ...]


SECTIONS = ("Begin", "Change what runs", "Ask what runs", "Run locally")

BEGIN, CHANGE, ASK, LOCAL = SECTIONS

COMMANDS: tuple[Command | Group, ...] = (
    Command(
        "validate",
        "meshctl.cli.validate:validate",
        "Say every mistake of the fleet file at once.",
        "Begin",
    ),
    Group(
        "config",
        "Show the fleet file as it is understood, its schema, an example.",
        "Begin",
        (
            Command("show", "meshctl.cli.config:show", "Show the fleet with everything filled in."),
            Command(
                "schema", "meshctl.cli.config:schema", "Print the JSON schema of a fleet file."
            ),
            Command(
                "example",
                "meshctl.cli.config:example",
                "Print an example that documents every key.",
            ),
        ),
    ),
    Command(
        "adopt",
        "meshctl.cli.adopt:adopt",
        "Take over a live service: YAML for it, and a release.",
        "Begin",
    ),
    Command("build", "meshctl.cli.build:build", "Build an image and record its digest.", CHANGE),
    Command("plan", "meshctl.cli.deploy:plan", "Show what deploy would do; change nothing.", ASK),
    Command("deploy", "meshctl.cli.deploy:deploy", "Bring services to what the file says.", CHANGE),
    Command("canary", "meshctl.cli.deploy:canary", "Place a release at 0 % and verify it.", CHANGE),
    Command("cutover", "meshctl.cli.move:cutover", "Give a verified revision traffic.", CHANGE),
    Command(
        "rollback", "meshctl.cli.move:rollback", "Give traffic back to the one before.", CHANGE
    ),
    Command("resume", "meshctl.cli.move:resume", "Go on with an unfinished run.", CHANGE),
    Command("abort", "meshctl.cli.move:abort", "Undo an unfinished run and end it.", CHANGE),
    Command("gc", "meshctl.cli.gc:gc", "Take away stale tags and services; asks first.", CHANGE),
    Command("status", "meshctl.cli.ask:status", "Say what serves, since when, what drifted.", ASK),
    Command("verify", "meshctl.cli.ask:verify", "Ask a running release the battery.", ASK),
    Command("history", "meshctl.cli.ask:history", "List releases and the way back.", ASK),
    Command("explain", "meshctl.cli.ask:explain", "Tell the story of a run.", ASK),
    Command("logs", "meshctl.cli.logs:logs", "Show what a service wrote.", ASK),
    Command("diagnose", "meshctl.cli.diagnose:diagnose", "Name the first cause in a log.", ASK),
    Command("cost", "meshctl.cli.cost:cost", "Show what the fleet costs, idle and full.", ASK),
    Command("quota", "meshctl.cli.quota:quota", "Show free slots and who holds the rest.", ASK),
    Group(
        "host",
        "Look at the machines of the fleet; run a command on them.",
        ASK,
        (
            Command("list", "meshctl.cli.host:list_", "Say who answers, and what is free there."),
            Command("check", "meshctl.cli.host_check:check", "Say whether services can run there."),
            Command("exec", "meshctl.cli.host:exec_", "Run a command on hosts, all at once."),
            Command("sweep", "meshctl.cli.host_sweep:sweep", "End what is in a service's way."),
        ),
    ),
    Group(
        "payload",
        "Say what model files really are; fetch them, every byte proved.",
        ASK,
        (
            Command("inspect", "meshctl.cli.payload:inspect", "Say what a model file really is."),
            Command("compare", "meshctl.cli.payload:compare", "Say whether B can replace A."),
            Command("fetch", "meshctl.cli.fetch:fetch", "Fetch model files, every byte proved."),
            Command("verify", "meshctl.cli.payload_verify:verify", "Read files whole, prove them."),
            Command(
                "publish", "meshctl.cli.payload_publish:publish", "Put files into S3 or R2, proved."
            ),
            Command("list", "meshctl.cli.payload_list:list_", "Say what is there, and could go."),
            Command("retire", "meshctl.cli.payload_retire:retire", "Move free files to the trash."),
            Command("restore", "meshctl.cli.payload_trash:restore", "Bring retired files back."),
            Command("purge", "meshctl.cli.payload_trash:purge", "Delete retired files for good."),
        ),
    ),
    Group(
        "bench",
        "Measure how fast a running release is, and whether to believe it.",
        ASK,
        (
            Command("run", "meshctl.cli.bench:run", "Measure decode, prefill and first token."),
            Command("compare", "meshctl.cli.bench:compare", "Say whether A is faster than B."),
            Command("report", "meshctl.cli.bench:report", "Compute a recording anew; draw it."),
        ),
    ),
    Group(
        "budget",
        "Say before the boot whether a model fits.",
        ASK,
        (
            Command("show", "meshctl.cli.budget:show", "Say whether it fits, and what would help."),
            Command("boot", "meshctl.cli.budget_boot:boot", "Learn from the log of a boot."),
        ),
    ),
    Group(
        "peer",
        "Say which peers a coordinator announces; add, remove and sync them.",
        CHANGE,
        (
            Command("list", "meshctl.cli.peer:list_", "Say who is a peer, and what drifted."),
            Command("add", "meshctl.cli.peer:add", "Place, announce and prove a peer."),
            Command("remove", "meshctl.cli.peer:remove", "Take a peer out of the announcement."),
            Command("sync", "meshctl.cli.peer:sync", "Announce what the fleet file declares."),
        ),
    ),
    Group(
        "env",
        "Compare environments key by key, and bring one to the fleet file.",
        CHANGE,
        (
            Command("diff", "meshctl.cli.env:diff", "Compare two environments key by key."),
            Command("sync", "meshctl.cli.env:sync", "Bring an environment to the fleet file."),
        ),
    ),
    Group(
        "lock",
        "Look at the locks, freeze a service, let it go.",
        CHANGE,
        (
            Command("status", "meshctl.cli.lock:status", "Say who holds which lock."),
            Command("acquire", "meshctl.cli.lock:acquire", "Freeze a service by hand."),
            Command("release", "meshctl.cli.lock:release", "Let go a service that you froze."),
            Command("break", "meshctl.cli.lock:break_", "Take a lock away; needs --reason."),
        ),
    ),
    Group(
        "state",
        "Look after what is remembered between runs.",
        ASK,
        (
            Command(
                "check", "meshctl.cli.state:check", "Read all of the state, say what is wrong."
            ),
            Command("migrate", "meshctl.cli.state:migrate", "Move what an earlier meshctl wrote."),
        ),
    ),
    Command("demo", "meshctl.cli.demo:demo", "Play releases good and bad on a real model.", LOCAL),
    Group(
        "emulator",
        "Start, stop and look at the embedded cloud.",
        "Run locally",
        (
            Command(
                "start",
                "meshctl.cli.emulator:start",
                "Start the embedded cloud, unless it runs.",
            ),
            Command(
                "stop",
                "meshctl.cli.emulator:stop",
                "Stop the embedded cloud; its state is kept.",
            ),
            Command(
                "status", "meshctl.cli.emulator:status", "Say whether the embedded cloud runs."
            ),
            Command(
                "reset", "meshctl.cli.emulator:reset", "Forget everything in the embedded cloud."
            ),
            Command("fault", "meshctl.cli.fault:fault", "Order faults of it, to break on purpose."),
        ),
    ),
    Group(
        "mesh",
        "The mesh that serves models on one machine.",
        "Run locally",
        (Command("serve", "meshctl.cli.mesh:serve", "Run the mesh in this process."),),
    ),
)


def leaves() -> tuple[tuple[str, Command], ...]:
    """Every command with its full name, such as `config show`."""
    found: list[tuple[str, Command]] = []
    for entry in COMMANDS:
        if isinstance(entry, Group):
            found += [(f"{entry.name} {command.name}", command) for command in entry.commands]
        else:
            found.append((entry.name, entry))
    return tuple(found)
