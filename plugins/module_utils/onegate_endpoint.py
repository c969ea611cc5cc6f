# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which OneGate endpoint answers from here, found once per boot and remembered.

The endpoint of the context may be a link-local address that only works through OpenNebula's transparent proxy,
so port 5030 of the gateway is tried after it, as the marketplace appliance does.
"""

from __future__ import annotations

import os
import re
import socket
import struct

from ansible_collections.onehpc.ondemand.plugins.module_utils.atomic_file import write_atomically
from ansible_collections.onehpc.ondemand.plugins.module_utils.deadline import Deadline
from ansible_collections.onehpc.ondemand.plugins.module_utils.http_exchange import ExchangeFailed, exchange
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_error import OneGateError

ENDPOINT_FILE = "/run/onehpc/onegate_endpoint"
GATEWAY_PORT = 5030
CONNECT_TIMEOUT_SECONDS = 2
ANSWER_TIMEOUT_SECONDS = 5

_ENDPOINT = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?")


def normalised_endpoint(text):
    """An endpoint (http(s)://host[:port][/prefix]) without a trailing slash, or None when it is none."""
    text = (text or "").strip()
    return text.rstrip("/") if _ENDPOINT.fullmatch(text) else None


def request_headers(token, vm_id):
    """The two headers by which OneGate knows the caller."""
    return {"X-ONEGATE-TOKEN": token, "X-ONEGATE-VMID": str(vm_id)}


def candidates(context_endpoint, gateway):
    """Endpoints to try, in order: the context's, then port 5030 of the gateway (either may be None)."""
    found = [normalised_endpoint(context_endpoint)]
    if gateway:
        host = f"[{gateway}]" if ":" in gateway else gateway
        found.append(f"http://{host}:{GATEWAY_PORT}")
    return list(dict.fromkeys(endpoint for endpoint in found if endpoint))


def find_endpoint(
    endpoints,
    token,
    vm_id,
    connect_timeout_seconds=CONNECT_TIMEOUT_SECONDS,
    answer_timeout_seconds=ANSWER_TIMEOUT_SECONDS,
):
    """The first of `endpoints` that answers GET /vm with 200 or 401 (then OneGate is there, whatever it thinks of us).

    OneGateError naming each endpoint and why it failed when none does.
    """
    failures = []
    for endpoint in endpoints:
        deadline = Deadline(answer_timeout_seconds)
        headers = request_headers(token, vm_id)
        try:
            answer = exchange("GET", endpoint, "/vm", headers, None, deadline, connect_timeout_seconds)
        except ExchangeFailed as why:
            failures.append(f"{endpoint}: {why}")
            continue
        if answer.status in (200, 401):
            return endpoint
        failures.append(f"{endpoint}: HTTP {answer.status} to GET /vm")
    raise OneGateError(
        "GET",
        "/vm",
        "",
        None,
        "No OneGate endpoint answers (%s). Check ONEGATE_ENDPOINT in the context, and that OneGate can be reached "
        "from the management network." % ("; ".join(failures) or "neither the context nor a gateway names one"),
        retryable=True,
    )


def remembered_endpoint(path=ENDPOINT_FILE):
    """The endpoint remembered in a file, or None."""
    try:
        with open(path, encoding="ascii") as remembered:
            return normalised_endpoint(remembered.read())
    except (OSError, ValueError):
        return None


def remember_endpoint(endpoint, path=ENDPOINT_FILE):
    """Remember the endpoint that answered, for this boot. The file's directory is made when it is missing."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    write_atomically(path, (endpoint + "\n").encode("ascii"), mode=0o644)


def forget_endpoint(path=ENDPOINT_FILE):
    """Look for the endpoint anew next time."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def default_gateway(route_file="/proc/net/route"):
    """Address of the kernel's IPv4 default gateway, or None."""
    try:
        with open(route_file, encoding="ascii") as routes:
            lines = [line.split() for line in routes][1:]
    except OSError:
        return None
    for fields in sorted((f for f in lines if len(f) > 7), key=lambda f: int(f[6])):
        has_gateway = int(fields[3], 16) & 0x2
        if fields[1] == "00000000" and fields[7] == "00000000" and has_gateway:
            return socket.inet_ntoa(struct.pack("=I", int(fields[2], 16)))
    return None
