# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines: their records and their life between the scheduler and DONE."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.opennebula import user_template
from tests.opennebula.clock import Clock, Timer
from tests.opennebula.conditions import Conditions
from tests.opennebula.contexts import build_context, is_yes
from tests.opennebula.events import EventLog, shown
from tests.opennebula.hypervisor import Guest, Hypervisor
from tests.opennebula.networks import Network, NetworkError, mac_of
from tests.opennebula.settings import DRIVER, Settings
from tests.opennebula.states import FAILURE_LCM_STATES, LcmState, VmState
from tests.opennebula.template_syntax import Value

#: Attributes of a template that belong to the VM itself; all others go to its USER_TEMPLATE.
VM_ATTRIBUTES = frozenset(
    [
        "AUTOMATIC_REQUIREMENTS",
        "CONTEXT",
        "CPU",
        "CPU_COST",
        "CPU_MODEL",
        "CREATED_BY",
        "DISK",
        "DISK_COST",
        "EMULATOR",
        "FEATURES",
        "GRAPHICS",
        "INPUT",
        "MEMORY",
        "MEMORY_COST",
        "MEMORY_MAX",
        "NIC",
        "NIC_ALIAS",
        "NIC_DEFAULT",
        "NUMA_NODE",
        "OS",
        "PCI",
        "RAW",
        "SNAPSHOT",
        "TEMPLATE_ID",
        "TM_MAD_SYSTEM",
        "TOPOLOGY",
        "TPM",
        "VCPU",
        "VCPU_MAX",
        "VIDEO",
        "VMGROUP",
        "VMID",
        "VROUTER_ID",
    ]
)

#: The ordinary user that owns templates, VMs and services.
OWNER = {"UID": "2", "GID": "1", "UNAME": "cluster", "GNAME": "users"}

#: Attributes of a VM that OneFlow keeps with a node.
NODE_INFO = ("ID", "UID", "GID", "UNAME", "GNAME", "NAME")


class VmError(Exception):
    """An operation is refused; the text is the core's."""


@dataclass
class VirtualMachine:
    """One VM. ``history`` holds ``{"time", "event", "text"}`` in order."""

    id: int
    name: str
    template: dict[str, Any]
    user_template: dict[str, list[Value]]
    start_time: int
    token: str | None
    state: VmState = VmState.PENDING
    lcm_state: LcmState = LcmState.LCM_INIT
    end_time: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    shutdown_limit: Timer | None = None

    @property
    def host_name(self) -> str:
        """Name of the VM's guest."""
        return f"vm-{self.id}"

    @property
    def service_id(self) -> int | None:
        value = self.attribute("SERVICE_ID")
        return int(value) if isinstance(value, str) and value.isdigit() else None

    @property
    def role_name(self) -> str | None:
        value = self.attribute("ROLE_NAME")
        return value if isinstance(value, str) else None

    def attribute(self, name: str) -> Any:
        """A value of the USER_TEMPLATE as it is shown, None when it is absent."""
        values = self.user_template.get(name)
        return user_template.shown_value(values) if values else None

    def document(self) -> dict[str, Any]:
        """The VM as the core shows it (the part a service needs)."""
        return {
            "ID": str(self.id),
            **OWNER,
            "NAME": self.name,
            "STATE": str(int(self.state)),
            "LCM_STATE": str(int(self.lcm_state)),
            "STIME": str(self.start_time),
            "ETIME": str(self.end_time),
            "TEMPLATE": dict(sorted(self.template.items())),
            "USER_TEMPLATE": user_template.shown(self.user_template),
        }

    def is_in(self, state: VmState, lcm_state: LcmState) -> bool:
        return self.state == state and self.lcm_state == lcm_state

    @property
    def has_failed(self) -> bool:
        """Whether its start or end has failed."""
        return self.state == VmState.ACTIVE and self.lcm_state in FAILURE_LCM_STATES

    @property
    def is_powering_off(self) -> bool:
        return self.state == VmState.ACTIVE and self.lcm_state in (LcmState.SHUTDOWN, LcmState.SHUTDOWN_POWEROFF)


Listener = Callable[[VirtualMachine], None]
UpdateListener = Callable[[VirtualMachine, str], None]


class VmPool:
    """All VMs ever made, and what changes them. Every method is called under the clock's lock."""

    def __init__(
        self,
        clock: Clock,
        hypervisor: Hypervisor,
        networks: list[Network],
        events: EventLog,
        settings: Settings,
        conditions: Conditions,
    ) -> None:
        self._conditions = conditions
        self._clock = clock
        self._hypervisor = hypervisor
        self._networks = {network.id: network for network in networks}
        self._events = events
        self._settings = settings
        self._state_listeners: list[Listener] = []
        self._update_listeners: list[UpdateListener] = []
        self._watching_power = False
        self.vms: dict[int, VirtualMachine] = {}

    def on_state(self, listener: Listener) -> None:
        """Call ``listener(vm)`` after each change of a VM's state."""
        self._state_listeners.append(listener)

    def on_update(self, listener: UpdateListener) -> None:
        """Call ``listener(vm, text)`` after each accepted update, with the text the core received."""
        self._update_listeners.append(listener)

    def get(self, vm_id: int) -> VirtualMachine:
        """:raises VmError: for an unknown id."""
        if vm_id not in self.vms:
            raise VmError(f"[one.vm.info] Error getting virtual machine [{vm_id}].")
        return self.vms[vm_id]

    # --- creation ---

    def create(self, name: str, template: Mapping[str, Any], template_id: int, on_hold: bool = False) -> VirtualMachine:
        """A new VM from a finished template, on its way to a host, or on hold until it is released.

        :raises VmError: when a network is unknown or has no free address.
        """
        vm_id = len(self.vms)
        attributes = {key.upper(): value for key, value in template.items() if key.upper() != "NAME"}
        nics, interfaces = self._lease(vm_id, attributes.get("NIC") or [])
        own = {key: value for key, value in attributes.items() if key in VM_ATTRIBUTES}
        foreign = {key: value for key, value in attributes.items() if key not in VM_ATTRIBUTES}
        has_token = is_yes((own.get("CONTEXT") or {}).get("TOKEN", ""))
        own.update(TEMPLATE_ID=str(template_id), VMID=str(vm_id))
        if nics:
            own["NIC"] = nics
        if has_token:
            own["CREATED_BY"] = OWNER["UID"]
        if "CONTEXT" in own:
            references = {**attributes, "NAME": name, "VMID": str(vm_id)}
            own["CONTEXT"] = build_context(
                own["CONTEXT"],
                references,
                self._settings.user_attributes,
                vm_id,
                interfaces,
                self._settings.onegate_endpoint,
            )
        vm = VirtualMachine(
            id=vm_id,
            name=name,
            template=own,
            user_template={key: [_as_value(value)] for key, value in foreign.items()},
            start_time=int(self._clock.now()),
            token=_new_token() if has_token else None,
        )
        self.vms[vm_id] = vm
        self._note(vm, "CREATED", f"{name} created")
        self._event(vm, "VM_CREATED", f"{name} created")
        if on_hold:
            self._set_state(vm, VmState.HOLD, LcmState.LCM_INIT)
        else:
            self._clock.call_later(self._settings.scheduler_seconds, lambda: self._schedule(vm))
        return vm

    def _lease(self, vm_id: int, requested: Any) -> tuple[list[dict[str, str]], list[tuple[dict[str, str], Network]]]:
        nics: list[dict[str, str]] = []
        interfaces: list[tuple[dict[str, str], Network]] = []
        try:
            for index, wanted in enumerate(requested if isinstance(requested, list) else [requested]):
                network = self._network(wanted)
                address = network.lease(vm_id)
                nic = {
                    "AR_ID": "0",
                    "BRIDGE": network.bridge,
                    "BRIDGE_TYPE": "linux",
                    "CLUSTER_ID": "0",
                    **({"GATEWAY": network.gateway} if network.gateway else {}),
                    "IP": address,
                    "MAC": mac_of(address),
                    "NAME": wanted.get("NAME") or f"NIC{index}",
                    "NETWORK": network.name,
                    "NETWORK_ID": str(network.id),
                    "NIC_ID": str(index),
                    "SECURITY_GROUPS": "0",
                    "TARGET": f"one-{vm_id}-{index}",
                    "VN_MAD": DRIVER,
                }
                nics.append(nic)
                interfaces.append((nic, network))
        except NetworkError as error:
            for network in self._networks.values():
                network.release(vm_id)
            raise VmError(f"[one.template.instantiate] Cannot get IP/MAC lease: {error}") from error
        return nics, interfaces

    def _network(self, wanted: Mapping[str, Any]) -> Network:
        identity = str(wanted.get("NETWORK_ID", ""))
        if identity.isdigit() and int(identity) in self._networks:
            return self._networks[int(identity)]
        for network in self._networks.values():
            if network.name == wanted.get("NETWORK"):
                return network
        raise NetworkError(f"no network with id {identity!r} or name {wanted.get('NETWORK')!r}")

    # --- updates ---

    def update(self, vm: VirtualMachine, text: str) -> None:
        """Merge the attributes of a template into the USER_TEMPLATE.

        :raises user_template.CoreRefused: when nothing of it is stored.
        """
        attributes = user_template.parse_update(text)
        self._store(vm, user_template.merge(vm.user_template, attributes), text)

    def replace_attributes(self, vm: VirtualMachine, attributes: dict[str, list[Value]]) -> None:
        """Let the USER_TEMPLATE be these attributes and no others."""
        self._store(vm, attributes, user_template.as_text(attributes))

    def rename(self, vm: VirtualMachine, name: str) -> None:
        """:raises VmError: for an empty name."""
        if not name:
            raise VmError("[one.vm.rename] Invalid NAME, it cannot be empty.")
        vm.name = name

    def _store(self, vm: VirtualMachine, attributes: dict[str, list[Value]], text: str) -> None:
        before = vm.user_template
        vm.user_template = attributes
        for name in dict.fromkeys([*attributes, *before]):
            if attributes.get(name) != before.get(name):
                self._note_update(vm, name, before.get(name))
        for listener in list(self._update_listeners):
            listener(vm, text)
        self._clock.changed.notify_all()

    def _note_update(self, vm: VirtualMachine, name: str, old_values: list[Value] | None) -> None:
        old = user_template.shown_value(old_values) if old_values else None
        new = vm.attribute(name)
        if old == new:
            return
        text = f"{name}: {shown(old)} -> {shown(new)}"
        self._note(vm, "READY" if name == "READY" else "UPDATE", text)
        self._event(vm, "READY" if name == "READY" else "VM_UPDATE", text)

    # --- life ---

    def _schedule(self, vm: VirtualMachine) -> None:
        if vm.state != VmState.PENDING:
            return
        slots = self._conditions.host_slots
        if slots is not None and sum(other.state == VmState.ACTIVE for other in self.vms.values()) >= slots:
            self._note(vm, "NO_ROOM", f"all {slots} slots of the hosts are taken")
            return
        self._set_state(vm, VmState.ACTIVE, LcmState.PROLOG)
        self._start_guest(vm, LcmState.BOOT)

    def schedule_pending(self) -> None:
        """Look again for room for the VMs that wait for it."""
        for vm in list(self.vms.values()):
            if vm.state == VmState.PENDING:
                self._clock.call_later(self._settings.scheduler_seconds, lambda vm=vm: self._schedule(vm))

    def _start_guest(self, vm: VirtualMachine, while_starting: LcmState) -> None:
        self._set_state(vm, VmState.ACTIVE, while_starting)
        guest = Guest(
            name=vm.host_name,
            vm_id=vm.id,
            memory_mib=int(vm.template.get("MEMORY") or 1024),
            context=dict(vm.template.get("CONTEXT") or {}),
            token=vm.token,
            keeps_disk=while_starting == LcmState.BOOT_POWEROFF,
            kernel_arguments=tuple((vm.template.get("OS") or {}).get("KERNEL_CMD", "").split()),
        )
        fails = self._conditions.failing_boots > 0
        if fails:
            self._conditions.failing_boots -= 1

        def start() -> None:
            if fails:
                raise RuntimeError("the hypervisor refuses it")
            self._hypervisor.deploy(guest)

        def started(_: Any, error: BaseException | None) -> None:
            if not vm.is_in(VmState.ACTIVE, while_starting):
                # it was terminated or recreated meanwhile, possibly before the guest had power
                self._destroy_then(vm, lambda: self._resubmit(vm))
            elif error is not None:
                self._set_state(vm, VmState.ACTIVE, LcmState.BOOT_FAILURE, f"boot failed: {error}")
            else:
                self._set_state(vm, VmState.ACTIVE, LcmState.RUNNING)
                self._watch_power()

        self._clock.background(start, started)

    def release(self, vm: VirtualMachine) -> None:
        """Let a VM on hold start.

        :raises VmError: in another state.
        """
        if vm.state != VmState.HOLD:
            raise self._wrong_state(vm, "release")
        self._set_state(vm, VmState.PENDING, LcmState.LCM_INIT)
        self._clock.call_later(self._settings.scheduler_seconds, lambda: self._schedule(vm))

    def hold(self, vm: VirtualMachine) -> None:
        """Keep a VM that has no host yet from getting one.

        :raises VmError: in another state.
        """
        if vm.state != VmState.PENDING:
            raise self._wrong_state(vm, "hold")
        self._set_state(vm, VmState.HOLD, LcmState.LCM_INIT)

    def poweroff(self, vm: VirtualMachine, hard: bool = False) -> None:
        """Power a VM off and keep it.

        :raises VmError: when it does not run.
        """
        if not (vm.state == VmState.ACTIVE and vm.lcm_state in (LcmState.RUNNING, LcmState.UNKNOWN)):
            raise self._wrong_state(vm, "poweroff-hard" if hard else "poweroff")
        if hard:
            self._set_state(vm, VmState.ACTIVE, LcmState.SHUTDOWN_POWEROFF)
            self._destroy_then(vm, lambda: self._powered_off(vm))
        else:
            self._shut_down(vm, LcmState.SHUTDOWN_POWEROFF)

    def resume(self, vm: VirtualMachine) -> None:
        """Start a VM that is powered off.

        :raises VmError: in another state.
        """
        if vm.state != VmState.POWEROFF:
            raise self._wrong_state(vm, "resume")
        self._start_guest(vm, LcmState.BOOT_POWEROFF)

    def lose_contact(self, vm: VirtualMachine) -> None:
        """The host no longer tells of a running VM.

        :raises VmError: in another state.
        """
        if not vm.is_in(VmState.ACTIVE, LcmState.RUNNING):
            raise self._wrong_state(vm, "lose contact")
        self._set_state(vm, VmState.ACTIVE, LcmState.UNKNOWN)

    def regain_contact(self, vm: VirtualMachine) -> None:
        """The host tells again of a VM that was lost.

        :raises VmError: in another state.
        """
        if not vm.is_in(VmState.ACTIVE, LcmState.UNKNOWN):
            raise self._wrong_state(vm, "regain contact")
        self._set_state(vm, VmState.ACTIVE, LcmState.RUNNING)

    def retry(self, vm: VirtualMachine) -> None:
        """Try a failed operation again: needs a right that the ordinary owner of a VM does not have.

        :raises VmError: always.
        """
        raise VmError(f"[one.vm.recover] User [{OWNER['UID']}] : Not authorized to perform ADMIN VM [{vm.id}].")

    def delete_recreate(self, vm: VirtualMachine) -> None:
        """Throw a VM's guest and disks away and start it anew: same id, addresses, token and USER_TEMPLATE.

        :raises VmError: when it is powered off or done.
        """
        if vm.state == VmState.DONE:
            raise VmError("[one.vm.recover] Cannot delete-recreate a VM already in DONE state")
        if vm.state == VmState.POWEROFF:
            raise VmError("[one.vm.recover] Cannot delete-recreate a powered off VM. Resume it first")
        self._event(vm, "VM_RECREATE", "delete-recreate")
        if vm.state == VmState.HOLD:
            self.release(vm)
        elif vm.state == VmState.ACTIVE:
            self._clean_up(vm)

    def _clean_up(self, vm: VirtualMachine) -> None:
        before = vm.lcm_state
        if before == LcmState.CLEANUP_RESUBMIT:
            return
        if vm.shutdown_limit is not None:
            vm.shutdown_limit.cancel()
        self._set_state(vm, VmState.ACTIVE, LcmState.CLEANUP_RESUBMIT)
        # what starts or takes power right now goes on from here when it has ended
        if before not in (LcmState.BOOT, LcmState.BOOT_POWEROFF, LcmState.EPILOG):
            self._destroy_then(vm, lambda: self._resubmit(vm))

    def _resubmit(self, vm: VirtualMachine) -> None:
        if vm.is_in(VmState.ACTIVE, LcmState.CLEANUP_RESUBMIT):
            self._set_state(vm, VmState.PENDING, LcmState.LCM_INIT)
            self.schedule_pending()

    @staticmethod
    def _wrong_state(vm: VirtualMachine, action: str) -> VmError:
        return VmError(
            f"[one.vm.action] Error performing action {action} on virtual machine [{vm.id}]: "
            f"wrong state {vm.state.name}, {vm.lcm_state.name}"
        )

    def terminate(self, vm: VirtualMachine, hard: bool = False) -> None:
        """End a VM: cleanly by asking its guest to power off (by force when the time is over), or at once.

        :raises VmError: when its state allows no such end.
        """
        if vm.state == VmState.DONE or vm.is_in(VmState.ACTIVE, LcmState.EPILOG):
            raise VmError(f"[one.vm.action] Error performing action on virtual machine [{vm.id}]: it is ending or done")
        self._event(vm, "VM_TERMINATE", "terminate-hard" if hard else "terminate")
        if vm.state in (VmState.PENDING, VmState.HOLD):
            self._finish(vm)
        elif vm.state == VmState.POWEROFF or vm.lcm_state in FAILURE_LCM_STATES:
            self._end_by_force(vm)
        elif hard:
            self._set_state(vm, VmState.ACTIVE, LcmState.SHUTDOWN)
            self._end_by_force(vm)
        elif vm.lcm_state in (LcmState.RUNNING, LcmState.UNKNOWN):
            self._shut_down(vm, LcmState.SHUTDOWN)
        else:
            raise self._wrong_state(vm, "terminate")

    def _shut_down(self, vm: VirtualMachine, while_shutting_down: LcmState) -> None:
        self._set_state(vm, VmState.ACTIVE, while_shutting_down)
        limit_seconds = self._settings.shutdown_timeout_seconds
        vm.shutdown_limit = self._clock.call_later(limit_seconds, lambda: self._shutdown_over(vm))

        def asked(_: Any, error: BaseException | None) -> None:
            if error is not None and vm.is_powering_off:
                self._note(vm, "SHUTDOWN_FAILED", f"clean shutdown failed ({error}), taking its power")
                self._take_power(vm)
            else:
                self._await_power_off(vm)

        self._clock.background(lambda: self._hypervisor.shutdown(vm.host_name, limit_seconds), asked)

    def _await_power_off(self, vm: VirtualMachine) -> None:
        if not vm.is_powering_off:
            return

        def looked(running: Any, error: BaseException | None) -> None:
            if not vm.is_powering_off:
                return
            if error is None and not running:
                self._has_no_power(vm)
            else:
                self._clock.call_later(self._settings.power_poll_seconds, lambda: self._await_power_off(vm))

        self._clock.background(lambda: self._hypervisor.is_running(vm.host_name), looked)

    def _shutdown_over(self, vm: VirtualMachine) -> None:
        if vm.is_powering_off:
            limit = self._settings.shutdown_timeout_seconds
            self._note(vm, "SHUTDOWN_FAILED", f"still running after {limit:g} s, taking its power")
            self._take_power(vm)

    def _take_power(self, vm: VirtualMachine) -> None:
        if vm.lcm_state == LcmState.SHUTDOWN:
            self._end_by_force(vm)
        else:
            self._destroy_then(vm, lambda: self._powered_off(vm))

    def _has_no_power(self, vm: VirtualMachine) -> None:
        if vm.lcm_state == LcmState.SHUTDOWN:
            self._finish(vm)
        else:
            self._powered_off(vm)

    def _powered_off(self, vm: VirtualMachine) -> None:
        if vm.is_in(VmState.ACTIVE, LcmState.SHUTDOWN_POWEROFF):
            if vm.shutdown_limit is not None:
                vm.shutdown_limit.cancel()
            self._set_state(vm, VmState.POWEROFF, LcmState.LCM_INIT)

    def _end_by_force(self, vm: VirtualMachine) -> None:
        self._set_state(vm, VmState.ACTIVE, LcmState.EPILOG)
        self._destroy_then(vm, lambda: self._finish(vm))

    def _destroy_then(self, vm: VirtualMachine, after: Callable[[], None]) -> None:
        def destroyed(_: Any, error: BaseException | None) -> None:
            if error is not None:
                self._note(vm, "DESTROY_FAILED", str(error))
            after()

        self._clock.background(lambda: self._hypervisor.destroy(vm.host_name), destroyed)

    def _finish(self, vm: VirtualMachine) -> None:
        if vm.state == VmState.DONE:
            return
        if vm.lcm_state == LcmState.CLEANUP_RESUBMIT:
            self._resubmit(vm)
            return
        if vm.shutdown_limit is not None:
            vm.shutdown_limit.cancel()
        if vm.state == VmState.ACTIVE and self._conditions.failing_ends > 0:
            self._conditions.failing_ends -= 1
            self._set_state(vm, VmState.ACTIVE, LcmState.EPILOG_FAILURE)
            return
        for network in self._networks.values():
            network.release(vm.id)
        vm.end_time = int(self._clock.now())
        self._set_state(vm, VmState.DONE, LcmState.LCM_INIT)

    # --- guests that power off by themselves ---

    def _watch_power(self) -> None:
        if not self._watching_power:
            self._watching_power = True
            self._clock.call_later(self._settings.power_poll_seconds, self._look_for_power)

    def _look_for_power(self) -> None:
        running = [vm for vm in self.vms.values() if vm.is_in(VmState.ACTIVE, LcmState.RUNNING)]
        if not running:
            self._watching_power = False
            return

        def look() -> list[VirtualMachine]:
            return [vm for vm in running if not self._hypervisor.is_running(vm.host_name)]

        def looked(off: Any, error: BaseException | None) -> None:
            for vm in off or ():
                if vm.is_in(VmState.ACTIVE, LcmState.RUNNING):
                    self._set_state(vm, VmState.POWEROFF, LcmState.LCM_INIT, "its guest has powered off by itself")
            self._clock.call_later(self._settings.power_poll_seconds, self._look_for_power)

        self._clock.background(look, looked)

    # --- record ---

    def _set_state(self, vm: VirtualMachine, state: VmState, lcm_state: LcmState, text: str = "") -> None:
        vm.state, vm.lcm_state = state, lcm_state
        name = lcm_state.name if state == VmState.ACTIVE else state.name
        self._note(vm, name, text)
        self._event(vm, "VM_STATE", f"{name}: {text}" if text else name)
        for listener in list(self._state_listeners):
            listener(vm)
        if state not in (VmState.ACTIVE, VmState.PENDING):
            self.schedule_pending()
        self._clock.changed.notify_all()

    def _note(self, vm: VirtualMachine, event: str, text: str) -> None:
        vm.history.append({"time": self._clock.now(), "event": event, "text": text})

    def _event(self, vm: VirtualMachine, kind: str, text: str) -> None:
        self._events.add(self._clock.now(), kind, text, vm=vm.id, service=vm.service_id, role=vm.role_name)


def _as_value(value: Any) -> Value:
    if isinstance(value, Mapping):
        return {name.upper(): str(member) for name, member in value.items()}
    return str(value)


def _new_token() -> str:
    """24 characters of base64, as the core's token of a small id; what is in it only the server knows."""
    return base64.b64encode(secrets.token_bytes(16)).decode("ascii")
