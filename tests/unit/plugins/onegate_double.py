# SPDX-License-Identifier: GPL-3.0-or-later
"""A OneGate on loopback, made from recorded answers, that can also misbehave."""

from __future__ import annotations

import copy
import http.server
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SAMPLES = Path(__file__).parents[2] / "contract" / "recordings"
TOKEN = "c2VjcmV0LXRva2VuLW9mLXZtMg=="


def sample(name):
    """A recorded body, decoded."""
    return json.loads((SAMPLES / name).read_text())


def vm_body(vm_id, role=None, address="192.0.2.12", state="3", lcm_state="3", **user_template):
    """The recorded VM with another id, state, role, address and attributes."""
    body = sample("onegate-vm.json")
    vm = body["VM"]
    vm.update(ID=str(vm_id), NAME=f"{role}_0_(service_1)", STATE=state, LCM_STATE=lcm_state)
    vm["USER_TEMPLATE"] = dict(user_template)
    if role:
        vm["USER_TEMPLATE"].update(ROLE_NAME=role, SERVICE_ID="1")
    vm["TEMPLATE"]["NIC"][0]["IP"] = address
    return body


def service_body(**roles):
    """The recorded service in which the given roles list the given VM ids, e.g. portal=[2, 7]."""
    body = sample("onegate-service.json")
    by_name = {role["name"]: role for role in body["SERVICE"]["roles"]}
    node = by_name["portal"]["nodes"][0]
    for name, vm_ids in roles.items():
        nodes = []
        for vm_id in vm_ids:
            nodes.append(copy.deepcopy(node))
            nodes[-1]["deploy_id"] = vm_id
            nodes[-1]["vm_info"]["VM"].update(ID=str(vm_id), NAME=f"{name}_0_(service_1)")
        by_name[name].update(nodes=nodes, cardinality=len(nodes))
    return body


@dataclass
class Request:
    method: str
    path: str
    headers: dict
    form: dict
    order: dict


@dataclass
class Fault:
    """Answers `times` requests (None: all) in place of the server.

    kind: "status" with a body, or "silent", "drip", "truncated", "not_json", "not_http", "closed".
    """

    kind: str
    times: int | None = None
    status: int = 200
    body: str = ""
    headers: dict = field(default_factory=dict)


class OneGateDouble:
    """vms: body of GET /vm and /vms/ID by id; own_vm_id: the VM whose token is TOKEN; service: body or None.

    max_vms: the largest cardinality that a role takes. forbidden_actions: on VMs.
    """

    def __init__(self, address="127.0.0.1", port=0):
        self.own_vm_id = 2
        self.vms = {2: sample("onegate-vm.json")}
        self.service = sample("onegate-service.json")
        self.requests = []
        self.faults = []
        self.stored_differently = {}
        self.max_vms = 9
        self.forbidden_actions = {"reboot"}
        self.released = threading.Event()
        self._server = http.server.ThreadingHTTPServer((address, port), _Handler)
        self._server.daemon_threads = True
        self._server.double = self
        self.endpoint = "http://{}:{}".format(*self._server.server_address)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self):
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def fault(self, kind, **settings):
        self.faults.append(Fault(kind, **settings))

    def calls(self, method=None):
        return [f"{r.method} {r.path}" for r in self.requests if method in (None, r.method)]

    def user_template(self, vm_id=None):
        return self.vms[vm_id or self.own_vm_id]["VM"]["USER_TEMPLATE"]

    def next_fault(self):
        for fault in self.faults:
            if fault.times is None:
                return fault
            if fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def answer(self, request):
        """(status, body) as the real server would answer."""
        if request.headers.get("X-Onegate-Token") != TOKEN or request.headers.get("X-Onegate-Vmid") != str(
            self.own_vm_id
        ):
            return 401, "Not authorized"
        if request.method == "GET" and request.path == "/service":
            return (200, json.dumps(self.service)) if self.service else (400, "Empty or invalid SERVICE_ID")
        if request.method == "PUT" and request.path.startswith("/service/role/"):
            return self._scale(request.path.rsplit("/", 1)[1], request.order["cardinality"])
        if request.method == "POST" and request.path.endswith("/action"):
            return self._act(request.path.split("/")[2], request.order["action"]["perform"])
        name, _slash, number = request.path.lstrip("/").partition("/")
        vm_id = self.own_vm_id if name == "vm" else int(number)
        if name not in ("vm", "vms") or vm_id not in self.vms:
            return 400, f"Service 1 does not contain VM {number}."
        if request.method == "GET":
            return 200, json.dumps(self.vms[vm_id])
        for line in request.form["data"].split("\n"):
            key, _equals, value = line.partition("=")
            stored = "" if value == '""' else value
            self.user_template(vm_id)[key] = self.stored_differently.get(key, stored)
        return 200, ""


    def _scale(self, role_name, cardinality):
        service = self.service["SERVICE"]
        role = next((role for role in service["roles"] if role["name"] == role_name), None)
        is_refused = role is None or service["state"] != 2 or not role["cardinality"] < cardinality <= self.max_vms
        if is_refused:
            return 400, f"Error performing action on service {service['id']} role {role_name}"
        role["cardinality"] = cardinality
        service["state"] = 8
        return 200, ""

    def _act(self, number, action):
        if action in self.forbidden_actions:
            return 403, f"Action ({action}) is not allowed on this resource"
        if int(number) not in self.vms:
            return 400, f"Service 1 does not contain VM {number}."
        self.vms[int(number)]["VM"]["LCM_STATE"] = "12"
        return 204, ""


class _Handler(http.server.BaseHTTPRequestHandler):
    def _serve(self):
        double = self.server.double
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        order = json.loads(body) if self.headers.get("Content-Type") == "application/json" else {}
        pairs = {} if order else parse_qs(body, strict_parsing=bool(body))
        form = {name: values[0] for name, values in pairs.items()}
        headers = {name.title(): value for name, value in self.headers.items()}
        request = Request(self.command, urlsplit(self.path).path, headers, form, order)
        double.requests.append(request)
        fault = double.next_fault()
        if fault is None:
            self._answer(*double.answer(request))
        elif fault.kind == "status":
            self._answer(fault.status, fault.body, fault.headers)
        else:
            getattr(self, "_" + fault.kind)()
        self.close_connection = True

    do_GET = do_PUT = do_POST = _serve

    def _answer(self, status, body, headers=None):
        encoded = body.encode()
        self.send_response_only(status)  # as the real one, without a Date
        self.send_header("Content-Type", "application/json;charset=utf-8")
        self.send_header("Content-Length", str(len(encoded)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(encoded)

    def _silent(self):
        self.server.double.released.wait(60)

    def _drip(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server.double.released.wait(0.1):
            try:
                self.wfile.write(b"a")
            except OSError:
                return

    def _truncated(self):
        body = json.dumps(self.server.double.service).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[: len(body) // 2])

    def _not_json(self):
        self._answer(200, "<html>a proxy's error page</html>")

    def _not_http(self):
        self.wfile.write(b"220 mail.example ESMTP ready\r\n")

    def _closed(self):
        pass

    def log_message(self, *_arguments):
        pass
