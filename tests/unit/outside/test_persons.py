"""A person without a service account gets an identity token too, or is told the two ways to one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from google.auth.exceptions import DefaultCredentialsError

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.gcp import Cloud, identity_token
from meshctl.outside.persons import impersonated
from meshctl.outside.shell import Result
from tests.fakes.fake_http import FakeHttp

CLOUD = Cloud("my-project", "us-central1")
PERSON = {
    "type": "authorized_user",
    "client_id": "c",
    "client_secret": "s",
    "refresh_token": "r",
    "quota_project_id": "my-project",
}


class Gcloud:
    """A machine whose gcloud answers so; None when it has no gcloud."""

    def __init__(self, result: Result | None) -> None:
        self.result = result
        self.asked: list[list[str]] = []

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> Result:
        self.asked.append(list(argv))
        if self.result is None:
            raise UsageError("gcloud: no such program")
        return self.result


def nobody(_: str) -> str:
    raise DefaultCredentialsError("neither metadata server nor service account")


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application default credentials of a user."""
    (tmp_path / "adc.json").write_text(json.dumps(PERSON))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")


def token(shell: Gcloud) -> str:
    return identity_token(CLOUD, FakeHttp({}), "https://chat.app", shell=shell, vouched=nobody)


def test_a_user_shows_the_token_that_gcloud_prints() -> None:
    gcloud = Gcloud(Result(0, "eyJ.hush\n", ""))

    assert token(gcloud) == "eyJ.hush"
    assert gcloud.asked == [["gcloud", "auth", "print-identity-token", "--quiet"]]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (Result(1, "eyJ.hush", "ERROR: not logged in\n"), "ERROR: not logged in"),
        (Result(0, "\n", ""), "exit code 0"),
        (None, "no such program"),
    ],
)
def test_without_any_token_both_ways_to_one_are_named(result: Result | None, why: str) -> None:
    with pytest.raises(Unreachable) as found:
        token(Gcloud(result))

    assert why in found.value.message and "hush" not in found.value.message
    assert "gcloud auth login" in found.value.hint
    assert "application-default login --impersonate-service-account=" in found.value.hint
    assert found.value.place == "https://chat.app"


def test_a_service_account_is_asked_first() -> None:
    gcloud = Gcloud(None)

    found = identity_token(
        CLOUD, FakeHttp({}), "https://chat.app", shell=gcloud, vouched=lambda url: f"for {url}"
    )

    assert (found, gcloud.asked) == ("for https://chat.app", [])


FEDERATED = {
    "type": "external_account",
    "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "token_url": "https://sts.googleapis.com/v1/token",
    "credential_source": {"file": "/run/token"},
}
ACTS_AS = (
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
    "deployer@my-project.iam.gserviceaccount.com:generateAccessToken"
)


def test_a_federated_pipeline_is_vouched_for_by_the_account_it_acts_as() -> None:
    from google.auth import identity_pool

    info = {**FEDERATED, "service_account_impersonation_url": ACTS_AS}

    account = impersonated(identity_pool.Credentials.from_info(info))

    assert account.service_account_email == "deployer@my-project.iam.gserviceaccount.com"


def test_a_federated_pipeline_that_acts_as_nobody_has_no_account() -> None:
    from google.auth import identity_pool

    assert impersonated(identity_pool.Credentials.from_info(FEDERATED)) is None
