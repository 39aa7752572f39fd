"""The page about the embedded cloud, and the environment in which gcloud asks it."""

from __future__ import annotations

import json

EMBEDDED = """# The embedded cloud

{made}

A local server that the real Google clients talk to: Cloud Run v2, Cloud Build v1, Storage, Cloud
Quotas, Logging, Monitoring and identity tokens, and Cloud Run v1 as gcloud speaks it. It really
runs what is deployed: an image is an OCI layout addressed by digest, a revision is a process, and a
front answers on one loopback port for each service and each tag.

A target with `emulator: true` starts it by itself, with its data in `.meshctl/emulator` beside the
fleet file. `meshctl emulator start`, `meshctl emulator stop`, `meshctl emulator status` and
`meshctl emulator reset` do it by hand; `meshctl emulator status -o json` names its URL. A target
with `emulator: http://127.0.0.1:PORT` uses one that runs, and never starts it. State survives a
stop, a kill and a restart.

Settings are read and changed at `URL/emulator/settings` (GET, PUT), and `meshctl emulator fault`
orders faults up, for tests that break it on purpose.

## gcloud as a second client

With these variables the real gcloud asks the embedded cloud at `http://127.0.0.1:PORT`; tried with
version 528. It rewrites the host of every regional call to REGION-HOST, so that it is told to use
the embedded cloud as its proxy, under a name that needs no resolving. What gcloud does is seen by
meshctl, and the other way round.

```
{exports}
```

Tried: `gcloud run services list|describe|update|update-traffic|delete`, `gcloud run deploy`,
`gcloud run revisions list|describe`, `gcloud builds submit --async`, `gcloud builds list`. Without
`--async` gcloud follows the log at storage.googleapis.com, which no setting moves.

"""


def gcloud_environment(url: str, *, project: str, region: str) -> dict[str, str]:
    """The variables with which gcloud asks the embedded cloud at a URL; facts/cloud-run section 10.

    CLOUDSDK_CONFIG, a folder of its own, is left to the caller: nothing of the operator's own
    configuration should leak in.
    """
    port = url.rstrip("/").rpartition(":")[2]
    return {
        "http_proxy": f"http://127.0.0.1:{port}",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN": f"http://run.emu.internal:{port}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBUILD": f"http://127.0.0.1:{port}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": f"http://127.0.0.1:{port}/",
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_CORE_PROJECT": project,
        "CLOUDSDK_RUN_REGION": region,
        "CLOUDSDK_CORE_SHOULD_PROMPT_TO_ENABLE_API": "false",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "true",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
    }


def embedded_page(made: str) -> str:
    """What the embedded cloud is, where it is not like the real one, and its settings."""
    from meshctl.emulator import settings

    said = (settings.__doc__ or "").partition("Named infidelities")[2]
    table = settings.Settings().to_json()
    lines = [EMBEDDED.format(made=made, exports=_exports())]
    lines[0] += f"## Where it is not like Cloud Run\n\nInfidelities{said}".rstrip() + "\n"
    lines += ["## Settings", "", "| setting | default |", "|---|---|"]
    lines += [f"| `{name}` | `{json.dumps(value)}` |" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def _exports() -> str:
    """Lines for a shell, with PORT in the place of the port."""
    found = gcloud_environment("http://127.0.0.1:1", project="local", region="local1")
    texts = {name: value.replace(":1/", ":PORT/") for name, value in found.items()}
    texts["http_proxy"] = "http://127.0.0.1:PORT"
    lines = [f"export {name}={value}" for name, value in texts.items()]
    return "\n".join(["export CLOUDSDK_CONFIG=$(mktemp -d)", *lines])
