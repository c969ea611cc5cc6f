# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the simulated cloud; the first two are OneFlow's own of the same name."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Every driver of the cloud: OpenNebula's own without effect.
DRIVER = "dummy"


@dataclass(frozen=True)
class Settings:
    """Times in seconds.

    :param autoscaler_interval_seconds: pause of the autoscaler between two rounds.
    :param wait_timeout_seconds: silence after which a wait of OneFlow looks at its VMs itself.
    :param onegate_endpoint: what contexts name; the default is link-local and answers nowhere, so that guests must
        find port 5030 of their gateway.
    :param scheduler_seconds: from a VM's creation to its start.
    :param networks_seconds: time a new service spends in DEPLOYING_NETS.
    :param shutdown_timeout_seconds: after it a guest that was asked to power off loses its power.
    :param power_poll_seconds: distance of two looks at the guests' power.
    :param user_attributes: of the owner, for ``$USER[NAME]``.
    """

    autoscaler_interval_seconds: float = 30
    wait_timeout_seconds: float = 30
    onegate_endpoint: str = "http://169.254.16.9:5030"
    scheduler_seconds: float = 0
    networks_seconds: float = 0.5
    shutdown_timeout_seconds: float = 120
    power_poll_seconds: float = 2
    user_attributes: dict[str, str] = field(default_factory=dict)
