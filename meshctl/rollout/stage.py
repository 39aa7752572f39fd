"""Proves that image and payloads are where the target can take them; changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshctl.errors import Refused
from meshctl.outside.cloudbuild import CloudBuildApi
from meshctl.outside.gcp import NotFound
from meshctl.plan.steps import StageRelease
from meshctl.state.builds import Built

Stage = Callable[[StageRelease], dict[str, Any]]
Prove = Callable[[str, int, str], dict[str, Any]]
"""Proves that the object of a URL has this size and sha256. Raises Refused when it has not."""


def stage(
    act: StageRelease, built: Built | None, builds: CloudBuildApi, prove: Prove
) -> dict[str, Any]:
    """What was proved, as evidence. Raises Refused when something is not as the plan says."""
    image = _prove_image(act, builds)
    files = {
        name: prove(act.objects[name], size, sha256)
        if name in act.objects
        else _prove_file(name, size, sha256, built)
        for name, (size, sha256) in sorted(act.files.items())
    }
    return {"image": image, "files": files}


def _prove_image(act: StageRelease, builds: CloudBuildApi) -> dict[str, Any]:
    """There is no registry API here: the build that pushed the digest is asked instead."""
    if act.build is None:
        return {"reference": act.image, "proved": "no: pinned by hand, no build to ask"}
    try:
        found = builds.get_build(act.build)
    except NotFound as error:
        raise Refused(
            f"build {act.build} of {act.image} is not known to the cloud any more",
            hint="build the image again: `meshctl build`",
            place=act.image,
        ) from error
    pushed = [image.get("digest") for image in found.get("results", {}).get("images", ())]
    if act.image.partition("@")[2] not in pushed:
        raise Refused(
            f"build {act.build} pushed {', '.join(map(str, pushed)) or 'nothing'}, not {act.image}",
            hint="build the image again: `meshctl build`",
            place=act.image,
        )
    return {"reference": act.image, "proved": f"pushed by build {act.build}"}


def _prove_file(name: str, size: int, sha256: str, built: Built | None) -> dict[str, Any]:
    """The build hashed every payload file while it packed it; that record must match the fleet."""
    if built is None:
        return {"bytes": size, "sha256": sha256, "proved": "no: the image was not built here"}
    for path, proof in sorted(built.files.items()):
        if path.endswith(f"/{name}") and (proof.bytes, proof.sha256) == (size, sha256):
            return {"bytes": size, "sha256": sha256, "proved": f"packed as {path} in {built.tag}"}
    raise Refused(
        f"{name} of {size} bytes, sha256 {sha256[:12]}, is not in image {built.tag}",
        hint=f"run `meshctl build {built.image}`",
        place=name,
    )
