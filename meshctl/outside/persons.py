"""Identity tokens where no key and no metadata server vouches for us: for a person, and for a
pipeline that came in through workload identity federation."""

from __future__ import annotations

from typing import Any

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.shell import Result, Shell

LOG_IN = ("gcloud", "auth", "print-identity-token", "--quiet")
WAYS = (
    "log in with `gcloud auth login`, or as a service account that may call it: "
    "`gcloud auth application-default login --impersonate-service-account=ACCOUNT`"
)


def persons_token(credentials: Any, audience: str, shell: Shell) -> str:
    """A token of the service account that the application default credentials stand for, else of
    the person whom gcloud knows. Raises Unreachable when neither gives one."""
    account = impersonated(credentials)
    if account is not None:
        return _token(account, audience)
    done = _printed(audience, shell)
    # A user's token is for gcloud itself: it cannot carry an audience of ours, and Cloud Run
    # takes it all the same. It is never told: only what gcloud says on stderr may be.
    token = done.out.strip()
    if not done.ok or not token:
        said = " ".join(done.err.split())[:200] or f"exit code {done.code}"
        raise _no_token(audience, f"gcloud gives none: {said}")
    return token


def impersonated(credentials: Any) -> Any:
    """Credentials of the service account that others impersonate; None when they stand for no one
    else. A federated pipeline is asked for its account's own token: the account needs
    roles/iam.serviceAccountOpenIdTokenCreator on itself."""
    from google.auth.external_account import Credentials as Federated
    from google.auth.impersonated_credentials import Credentials

    if isinstance(credentials, Credentials):
        return credentials
    email = credentials.service_account_email if isinstance(credentials, Federated) else None
    if not email:
        return None
    return Credentials(  # type: ignore[no-untyped-call]
        source_credentials=credentials,
        target_principal=email,
        target_scopes=["https://www.googleapis.com/auth/cloud-platform"],
    )


def _token(credentials: Any, audience: str) -> str:
    from google.auth.impersonated_credentials import IDTokenCredentials
    from google.auth.transport.requests import Request

    made: Any = IDTokenCredentials(credentials, target_audience=audience, include_email=True)  # type: ignore[no-untyped-call]
    made.refresh(Request())
    return str(made.token)


def _printed(audience: str, shell: Shell) -> Result:
    try:
        return shell.run(LOG_IN)
    except UsageError as missing:
        raise _no_token(audience, missing.message) from missing


def _no_token(audience: str, why: str) -> Unreachable:
    message = f"no identity token: no service account is at hand, and {why}"
    return Unreachable(message, place=audience, hint=WAYS)
