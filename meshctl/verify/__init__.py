"""Asks a running release a battery of questions and judges the answers by a written policy."""

from meshctl.spec.batteries import BATTERIES
from meshctl.verify.battery import check_names, run_battery
from meshctl.verify.subject import ModelAsked, Subject

__all__ = ["BATTERIES", "ModelAsked", "Subject", "check_names", "run_battery"]
