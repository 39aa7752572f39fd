"""Turns a Cloud Build recipe into the build that is asked for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from meshctl.errors import UsageError
from meshctl.outside.cloudbuild import normalised
from meshctl.outside.upload import Uploaded
from meshctl.spec.model import Build

Json = dict[str, Any]
IMAGE = "_IMAGE"


@dataclass(frozen=True)
class Recipe:
    """A rendered build that lacks only its tag and its source."""

    document: Json
    repository: str

    @property
    def digest(self) -> str:
        """Names steps, substitutions and options; another tag is the same recipe."""
        text = json.dumps([self.repository, self.document], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def timeout_s(self) -> float:
        return float(str(self.document["timeout"]).removesuffix("s"))

    def build(self, tag: str, source: Uploaded) -> Json:
        """The body of the request: this recipe, of that source, pushed under that tag."""
        substitutions = self.document["substitutions"] | {IMAGE: f"{self.repository}:{tag}"}
        storage = {"bucket": source.bucket, "object": source.name, "generation": source.generation}
        return self._logged(source.bucket) | {
            "substitutions": substitutions,
            "source": {"storageSource": storage},
        }

    def _logged(self, bucket: str) -> Json:
        """With its log where whoever may upload may also read it, unless the recipe decides."""
        logging = self.document.get("options", {}).get("logging", "")
        if "logsBucket" in self.document or logging in _NO_OBJECT:
            return self.document
        return self.document | {"logsBucket": f"gs://{bucket}/log"}


_NO_OBJECT = ("CLOUD_LOGGING_ONLY", "STACKDRIVER_ONLY", "NONE")


def read_recipe(file: Path, build: Build, repository: str) -> Recipe:
    """The recipe with the fleet's substitutions; a timeout written in the fleet wins over its own.

    Raises UsageError, with the file, for what is not a recipe.
    """
    document = normalised(_mapping(file), str(file))
    if not document.get("steps"):
        raise UsageError("the recipe has no steps", place=str(file), hint="add `steps:`")
    substitutions = {**document.get("substitutions", {}), **build.substitutions}
    if IMAGE in substitutions:
        raise UsageError(
            f"{IMAGE} is meshctl's: it holds the repository and the next tag",
            place=str(file),
            hint="remove it from the substitutions",
        )
    images = document.get("images", [])
    if not {f"${IMAGE}", f"${{{IMAGE}}}"} & set(images):
        images = [*images, f"${IMAGE}"]
    rendered = {**document, "substitutions": substitutions, "images": images}
    if "timeout" not in document or "timeout" in build.model_fields_set:
        rendered["timeout"] = f"{round(build.timeout)}s"
    return Recipe(rendered, repository)


def _mapping(file: Path) -> Json:
    try:
        document = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"the recipe cannot be read: {why}", place=str(file), hint="check `build.config`"
        ) from error
    except yaml.YAMLError as error:
        raise UsageError(
            f"the recipe is not YAML: {error}", place=str(file), hint="correct it"
        ) from error
    if not isinstance(document, dict):
        raise UsageError("the recipe is not a mapping", place=str(file), hint="start with `steps:`")
    return document
