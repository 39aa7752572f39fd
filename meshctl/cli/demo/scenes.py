"""The play: every scene in its order, as data.

A change is written into the fleet file before the command, and starts from configs/local.yaml
again: v3 has nothing of v2. A scene without one finds the file as it is, and every scene stands on
what the ones before it left behind.
"""

from __future__ import annotations

from meshctl.cli.demo.acts import Meshctl, Pin, Question
from meshctl.cli.demo.scene import Scene
from meshctl.cli.demo.transcript import ALL

CHAT = "services.chat"
MODEL = f"{CHAT}.models.smollm2"
DEPLOY = Meshctl("deploy chat --yes")
WEDGED = {
    f"{MODEL}.engine": "generic",
    f"{MODEL}.command": ["python3", "app/wedged-engine", "{port}"],
}

SCENES = (
    Scene(
        "build",
        "Program, engine and model become an image, named by its digest.",
        Meshctl("build mesh"),
        shows=ALL,
    ),
    Scene(
        "first deploy",
        "The first release is proved for us alone, then opened to everyone.",
        Meshctl("deploy chat --yes", at_shift="open"),
    ),
    Scene(
        "real answer",
        "A real model answers on the public URL. In the background a client asks there, too, "
        "again and again, from the moment it was opened until the end.",
        Question("Name the planets."),
        shows=ALL,
    ),
    Scene(
        "canary",
        "v2 is one changed line. It stands beside v1, at 0 %.",
        Meshctl("canary chat --tag v2 --yes"),
        change={f"{CHAT}.env": {"MESH_LOG": "debug"}},
    ),
    Scene(
        "verify",
        "The battery once more; the verdict is journalled, and cutover needs it.",
        Meshctl("verify chat --tag v2"),
        shows=ALL,
    ),
    Scene(
        "cutover",
        "Half of the traffic, a check, all of it, a check.",
        Meshctl("cutover chat --tag v2 --steps 50,100 --yes"),
    ),
    Scene("rollback", "v2 is not liked: back to v1.", Meshctl("rollback chat --yes")),
    Scene(
        "a release that exits at once",
        "v3 is started with an argument that the mesh refuses.",
        DEPLOY,
        expected=3,
        change={f"{CHAT}.args": ["mesh", "--fast"]},
    ),
    Scene(
        "build with a wedged engine",
        "v4 gets another engine: /health says 200, and no token ever comes.",
        Meshctl("build mesh"),
        change=WEDGED,
        wedges=True,
        shows=ALL,
    ),
    Scene(
        "a release with a lying health check",
        "It is healthy, so Cloud Run is content. meshctl asks for a token.",
        DEPLOY,
        expected=3,
    ),
    Scene(
        "a pin behind our back",
        "A stranger sends all traffic to v2, and tells nobody.",
        Pin(),
        shows=ALL,
    ),
    Scene(
        "deploy refuses the pin",
        "v5 is good, but whoever pinned traffic may have had a reason.",
        DEPLOY,
        expected=8,
        change={f"{MODEL}.context": 1024},
    ),
    Scene(
        "deploy takes the traffic",
        "Asked about, and it was a mistake: carry on.",
        Meshctl("deploy chat --take-traffic --yes"),
    ),
    Scene(
        "kill -9 in the middle",
        "v6 is killed without warning when half of the traffic has moved.",
        Meshctl("deploy chat --yes", at_shift="kill"),
        expected=137,
        change={f"{MODEL}.context": 4096},
    ),
    Scene("status", "What is there now?", Meshctl("status"), shows=ALL),
    Scene("resume", "The journal knows how to go on.", Meshctl("resume chat")),
    Scene("history", "Every release, and the way back.", Meshctl("history chat"), shows=ALL),
    Scene("explain", "The story of the last run.", Meshctl("explain chat"), shows=ALL),
)
