# SPDX-License-Identifier: GPL-3.0-or-later
"""How OneGate refuses a request."""

from __future__ import annotations

from tests.opennebula.messages import Response
from tests.opennebula.onegate_settings import OneGateSettings

UNSUPPORTED = "OneGate server doesn't support this feature"
NOT_AUTHORIZED = "Not authorized"
INTERNAL_ERROR = "Internal server error"
NO_GROUP = "This VM does not belong to any Virtual Router or Service, so it cannot retrieve information from other VMs"


class Halt(Exception):
    """The request ends here with this response."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.response = Response(status, body)


def not_authorized() -> Halt:
    """Whatever the cause, the answer is the same."""
    return Halt(401, NOT_AUTHORIZED)


def not_in_service(service_id: str, vm_id: int) -> Halt:
    """A VM that is no node of the caller's service, be it elsewhere, gone or unknown."""
    return Halt(400, f"Service {service_id} does not contain VM {vm_id}.")


def failed(settings: OneGateSettings, cause: str) -> Halt:
    """An operation that the core refused, or an attribute to erase that is not there."""
    return Halt(500, cause if settings.shows_causes else INTERNAL_ERROR)


def crashed(settings: OneGateSettings, text: str) -> Halt:
    """An exception in the server: its own text shows from 7.0.1 on, before that nothing does."""
    return Halt(500, "" if settings.shows_causes else text)
