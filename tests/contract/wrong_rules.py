# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of OneGate as one might believe them to be. Each must be noticed by the replay of a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.onegate_replays import REPLAYS
from tests.opennebula import (
    erasing,
    escaping,
    onegate,
    onegate_actions,
    onegate_answers,
    onegate_errors,
    onegate_updates,
    template_syntax,
    user_template,
    vm_documents,
)
from tests.opennebula.onegate_errors import Halt


@dataclass(frozen=True)
class WrongRule:
    """``rule`` of ``module`` made wrong.

    :param make: from the right rule to the wrong one.
    :param file: the recording whose replay must notice it.
    """

    name: str
    module: Any
    rule: str
    make: Callable[[Any], Any]
    file: str

    def differences(self, seed: int) -> list[str]:
        """What the replay notices while the rule is wrong."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.module, self.rule, self.make(getattr(self.module, self.rule)))
            return REPLAYS[self.file](seed).differences


def _single_interface_as_object(right: Callable[..., Any]) -> Callable[..., Any]:
    def shown(vm: Any) -> Any:
        value = right(vm)
        value["VM"]["TEMPLATE"]["NIC"] = vm_documents.collapsed(value["VM"]["TEMPLATE"]["NIC"])
        return value

    return shown


def _untrimmed(_right: Any) -> Callable[..., Any]:
    return lambda values: values[0] if len(values) == 1 else values


def _commas_left_alone(right: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: right(text.replace(",", "\x02")).replace("\x02", ",")


PUT, ERASE = "onegate-put-cases.json", "onegate-erase-cases.json"
STORY, OLDER = "onegate-exchanges.json", "onegate-6.10.5-errors.json"

WRONG_RULES = [
    WrongRule("a comma is accepted", escaping, "escape_attributes", _commas_left_alone, PUT),
    WrongRule("blanks at the ends are kept", user_template, "shown_value", _untrimmed, PUT),
    WrongRule("names keep their case", template_syntax, "attribute_name", lambda _: lambda name: name, PUT),
    WrongRule("emoji are accepted", user_template, "through_xmlrpc", lambda _: lambda text: text, PUT),
    WrongRule(
        "protected attributes may be set", user_template, "first_restricted_name", lambda _: lambda *_: None, PUT
    ),
    WrongRule("protected ones may be erased", user_template, "first_restricted_name", lambda _: lambda *_: None, ERASE),
    WrongRule("what is absent is erased", onegate_updates, "nothing_erased", lambda _: lambda cloud: None, ERASE),
    WrongRule(
        "case does not matter when erasing",
        erasing,
        "without",
        lambda right: lambda stored, path: right(stored, path.upper()),
        ERASE,
    ),
    WrongRule("an erase loses nothing", onegate_updates, "between_read_and_write", lambda _: lambda cloud: None, ERASE),
    WrongRule(
        "the refused token is told so", onegate_errors, "NOT_AUTHORIZED", lambda _: "Invalid token", "onegate-auth.json"
    ),
    WrongRule("any token will do", onegate, "is_token_of", lambda _: lambda vm, token: True, "onegate-auth.json"),
    WrongRule(
        "extended=false is off",
        onegate_answers,
        "is_extended",
        lambda _: lambda query: query.get("extended") not in (None, "false"),
        "cross-check.json",
    ),
    WrongRule(
        "an empty extended is off",
        onegate_answers,
        "is_extended",
        lambda _: lambda query: bool(query.get("extended")),
        "cross-check.json",
    ),
    WrongRule(
        "a single interface is a list in extended",
        vm_documents,
        "collapsed",
        lambda _: lambda value: value,
        "onegate-service-extended.json",
    ),
    WrongRule(
        "a single interface is an object", onegate_answers, "vm_shown", _single_interface_as_object, "onegate-vm.json"
    ),
    WrongRule(
        "a VM of no service is 404",
        onegate_errors,
        "not_in_service",
        lambda right: lambda *about: Halt(404, right(*about).response.body),
        STORY,
    ),
    WrongRule(
        "a refused scaling is 500",
        onegate_actions,
        "not_scaled",
        lambda right: lambda *about: Halt(500, right(*about).response.body),
        STORY,
    ),
    WrongRule("a reboot is allowed", onegate_actions, "is_restricted", lambda _: lambda *_: False, STORY),
    WrongRule(
        "what is unknown is not found", onegate_errors, "UNSUPPORTED", lambda _: "Not found", "onegate-puma.json"
    ),
    WrongRule(
        "an older server hides the cause, too",
        onegate_updates,
        "failed",
        lambda _: lambda settings, cause: Halt(500, onegate_errors.INTERNAL_ERROR),
        OLDER,
    ),
]
