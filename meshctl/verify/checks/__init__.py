"""Every check by its name: one file, one question, one judgement. Pure."""

from meshctl.verify.check import Check
from meshctl.verify.checks.completion import COMPLETION
from meshctl.verify.checks.identity import IDENTITY
from meshctl.verify.checks.model_listed import MODEL_LISTED
from meshctl.verify.checks.reachable import REACHABLE
from meshctl.verify.checks.stream import STREAM

CHECKS: dict[str, Check] = {
    check.name: check for check in (REACHABLE, IDENTITY, MODEL_LISTED, COMPLETION, STREAM)
}
