# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines and their guests."""

from __future__ import annotations

import pytest

from tests.opennebula.clock import VirtualClock
from tests.opennebula.cloud import Cloud
from tests.opennebula.contexts import is_yes
from tests.opennebula.hypervisor import NullHypervisor
from tests.opennebula.settings import Settings
from tests.opennebula.states import LcmState, VmState
from tests.opennebula.vms import VmError
from tests.unit.opennebula.scenario import Scenario

TEMPLATE = {
    "NAME": "host",
    "MEMORY": "2048",
    "NIC": [{"NETWORK": "Management"}, {"NETWORK": "Compute", "NAME": "fast"}],
    "CONTEXT": {"NETWORK": "YES", "TOKEN": "YES", "GREETING": "$HELLO from $NAME ($VMID) $NOBODY", "KEY": "$USER[KEY]"},
    "HELLO": "hi",
    "OS": {"KERNEL_CMD": "quiet x=1"},
}


@pytest.fixture
def cloud() -> Cloud:
    clock = VirtualClock()
    clock.lock.acquire()
    return Cloud(clock, NullHypervisor(), Settings(user_attributes={"KEY": "ssh-x"}, shutdown_timeout_seconds=90))


def new_vm(cloud: Cloud) -> int:
    vm_id = cloud.create_vm(cloud.create_vm_template(TEMPLATE), "solo")
    cloud.clock.wait_until(lambda: cloud.vms.get(vm_id).lcm_state in (LcmState.RUNNING, LcmState.BOOT_FAILURE), 10)
    return vm_id


def history(cloud: Cloud, vm_id: int) -> list[str]:
    return [entry["event"] for entry in cloud.vm_record(vm_id)["HISTORY"]]


def null(cloud: Cloud) -> NullHypervisor:
    return cloud.vms._hypervisor  # type: ignore[return-value]


def test_from_creation_to_done(cloud: Cloud) -> None:
    vm_id = new_vm(cloud)
    vm = cloud.vms.get(vm_id)
    assert null(cloud).running.keys() == {"vm-0"}
    cloud.vms.terminate(vm)
    assert vm.is_in(VmState.ACTIVE, LcmState.SHUTDOWN)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)
    assert history(cloud, vm_id) == ["CREATED", "PROLOG", "BOOT", "RUNNING", "SHUTDOWN", "DONE"]
    assert null(cloud).calls == [("deploy", "vm-0"), ("shutdown", "vm-0")]
    assert cloud.vm_record(vm_id)["ETIME"] >= cloud.vm_record(vm_id)["STIME"] > 0


def test_the_guest_gets_context_token_kernel_arguments_and_memory(cloud: Cloud) -> None:
    vm_id = new_vm(cloud)
    guest = null(cloud).running["vm-0"]
    assert guest.memory_mib == 2048
    assert guest.kernel_arguments == ("quiet", "x=1")
    assert guest.token == cloud.vms.get(vm_id).token
    assert guest.context["GREETING"] == "hi from solo (0) "
    assert guest.context["KEY"] == "ssh-x"
    assert guest.context["ETH0_MAC"] == "02:00:0a:42:00:0a"
    assert (guest.context["ETH1_IP"], guest.context["ETH1_MASK"]) == ("10.77.0.10", "255.255.255.0")
    assert list(guest.context) == sorted(guest.context)


#: As the real core writes them for each interface of an IPv4 network.
INTERFACE_VARIABLES = (
    "DNS EXTERNAL GATEWAY IP IP6 IP6_GATEWAY IP6_METHOD IP6_METRIC IP6_PREFIX_LENGTH IP6_ULA MAC MASK METHOD METRIC "
    "MTU NETWORK ROUTES SEARCH_DOMAIN VLAN_ID VROUTER_IP VROUTER_IP6 VROUTER_MANAGEMENT"
)


def test_variables_of_a_context(cloud: Cloud) -> None:
    context = cloud.vms.get(new_vm(cloud)).template["CONTEXT"]
    own = {"DISK_ID", "GREETING", "KEY", "NETWORK", "ONEGATE_ENDPOINT", "TARGET", "TOKEN", "VMID"}
    interfaces = {f"ETH{index}_{name}" for index in (0, 1) for name in INTERFACE_VARIABLES.split()}
    assert set(context) == own | interfaces


def test_without_network_and_token_a_context_has_neither(cloud: Cloud) -> None:
    template = {**TEMPLATE, "CONTEXT": {"NETWORK": "NO", "A": "1"}}
    vm = cloud.vms.get(cloud.create_vm(cloud.create_vm_template(template), "solo"))
    assert vm.template["CONTEXT"] == {"A": "1", "DISK_ID": "0", "NETWORK": "NO", "TARGET": "hda"}
    assert vm.token is None


@pytest.mark.parametrize(("value", "yes"), [("YES", True), ("yes", True), (" True", True), ("1", True), ("NO", False)])
def test_yes(value: str, yes: bool) -> None:
    assert is_yes(value) is yes


def test_names_that_are_no_vm_attribute_go_to_the_user_template(cloud: Cloud) -> None:
    record = cloud.vm_record(new_vm(cloud))
    assert record["USER_TEMPLATE"] == {"HELLO": "hi"}
    assert record["NAME"] == "solo"
    assert [nic["NAME"] for nic in record["TEMPLATE"]["NIC"]] == ["NIC0", "fast"]


def test_a_guest_that_does_not_power_off_loses_its_power_after_the_limit(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    null(cloud).obeys = False
    cloud.vms.terminate(vm)
    start = cloud.clock.now()
    assert not cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 89)
    assert vm.is_in(VmState.ACTIVE, LcmState.SHUTDOWN)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)
    assert cloud.clock.now() - start == pytest.approx(90)
    assert null(cloud).calls[-1] == ("destroy", "vm-0")
    assert null(cloud).running == {}


def test_a_clean_shutdown_that_fails_ends_by_force(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    vm = cloud.vms.get(new_vm(cloud))

    def fail(name: str, timeout_seconds: float) -> None:
        raise RuntimeError(f"{name} does not listen")

    monkeypatch.setattr(null(cloud), "shutdown", fail)
    cloud.vms.terminate(vm)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)
    assert null(cloud).running == {}
    assert any("does not listen" in entry["text"] for entry in cloud.vm_record(0)["HISTORY"])


def test_hard_takes_the_power_at_once(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    null(cloud).obeys = False
    cloud.vms.terminate(vm, hard=True)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 0)
    assert null(cloud).calls[-1] == ("destroy", "vm-0")


def test_a_guest_that_powers_off_by_itself(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    null(cloud).power_off("vm-0")
    assert cloud.clock.wait_until(lambda: vm.state == VmState.POWEROFF, 5)
    assert vm.lcm_state == LcmState.LCM_INIT
    cloud.vms.terminate(vm)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)


def test_power_is_watched_for_later_vms_too(cloud: Cloud) -> None:
    first = cloud.vms.get(new_vm(cloud))
    cloud.vms.terminate(first)
    cloud.clock.wait_until(lambda: False, 60)
    second = cloud.vms.get(new_vm(cloud))
    null(cloud).power_off(second.host_name)
    assert cloud.clock.wait_until(lambda: second.state == VmState.POWEROFF, 5)


def test_a_failed_boot(cloud: Cloud) -> None:
    null(cloud).boot_failure = "no such image"
    vm = cloud.vms.get(new_vm(cloud))
    assert vm.is_in(VmState.ACTIVE, LcmState.BOOT_FAILURE)
    assert "no such image" in cloud.vm_record(0)["HISTORY"][-1]["text"]
    cloud.vms.terminate(vm)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)


def test_a_vm_that_never_started_is_done_at_once(cloud: Cloud) -> None:
    vm = cloud.vms.get(cloud.create_vm(cloud.create_vm_template(TEMPLATE), "solo"))
    cloud.vms.terminate(vm)
    assert vm.state == VmState.DONE
    cloud.clock.wait_until(lambda: False, 60)
    assert null(cloud).calls == []


def test_a_vm_ended_by_force_while_it_boots_leaves_no_guest(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    vm = cloud.vms.get(cloud.create_vm(cloud.create_vm_template(TEMPLATE), "solo"))
    start = null(cloud).deploy

    def deploy(guest: object) -> None:
        with pytest.raises(VmError, match="wrong state ACTIVE, BOOT"):
            cloud.vms.terminate(vm)
        cloud.vms.terminate(vm, hard=True)
        start(guest)  # type: ignore[arg-type]

    monkeypatch.setattr(null(cloud), "deploy", deploy)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)
    cloud.clock.wait_until(lambda: False, 1)
    assert null(cloud).running == {}


def test_ending_twice_is_refused(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    cloud.vms.terminate(vm)
    cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)
    for hard in (False, True):
        with pytest.raises(VmError, match="ending or done"):
            cloud.vms.terminate(vm, hard)


def test_addresses_are_given_back_and_not_reused_at_once(cloud: Cloud) -> None:
    first, second = new_vm(cloud), new_vm(cloud)
    cloud.vms.terminate(cloud.vms.get(first), hard=True)
    cloud.clock.wait_until(lambda: cloud.vms.get(first).state == VmState.DONE, 5)
    third = new_vm(cloud)
    addresses = [cloud.vm_record(vm_id)["TEMPLATE"]["NIC"][0]["IP"] for vm_id in (first, second, third)]
    assert addresses == ["10.66.0.10", "10.66.0.11", "10.66.0.12"]
    assert "10.66.0.10" not in cloud.networks[0].leases


def test_an_unknown_network_or_template_is_refused(cloud: Cloud) -> None:
    template = cloud.create_vm_template({"NIC": [{"NETWORK_ID": "7"}]})
    with pytest.raises(VmError, match="no network with id '7'"):
        cloud.create_vm(template, "solo")
    with pytest.raises(VmError, match=r"\[99\]"):
        cloud.create_vm(99, "solo")


def test_every_change_of_a_value_is_in_the_record_and_long_ones_are_not_repeated(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    for body in ("SLURM_PENDING=1", "SLURM_PENDING=1", "SLURM_PENDING=0\nREADY=YES", f"KEY={'a' * 1366}"):
        cloud.vms.update(vm, body)
    texts = [(event["kind"], event["text"]) for event in cloud.events.since() if event["vm"] == vm.id]
    assert texts[-4:] == [
        ("VM_UPDATE", "SLURM_PENDING: (none) -> 1"),
        ("VM_UPDATE", "SLURM_PENDING: 1 -> 0"),
        ("READY", "READY: (none) -> YES"),
        ("VM_UPDATE", "KEY: (none) -> (1366 characters)"),
    ]
    assert history(cloud, vm.id)[-4:] == ["UPDATE", "UPDATE", "READY", "UPDATE"]


def test_events_are_numbered_and_can_be_continued(cloud: Cloud) -> None:
    new_vm(cloud)
    events = cloud.events.since()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert cloud.events.since(events[1]["seq"]) == events[2:]
    assert set(events[0]) == {"seq", "time", "kind", "vm", "service", "role", "text"}


def test_ending_all_makes_no_new_vms() -> None:
    scenario = Scenario(obeys=False).grown(2)
    scenario.cloud.oneflow.scale(scenario.service.id, "worker", 3)
    assert scenario.cloud.end_all_vms(10)
    scenario.advance(600)
    assert len(scenario.cloud.vms.vms) == 6
    assert scenario.hypervisor.running == {}


# --- powered off, on hold, without room ---


def test_a_resumed_vm_goes_on_with_its_disk(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    assert null(cloud).running[vm.host_name].keeps_disk is False
    cloud.vms.poweroff(vm)
    assert vm.is_in(VmState.ACTIVE, LcmState.SHUTDOWN_POWEROFF)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.POWEROFF, 5)
    assert null(cloud).running == {}
    cloud.vms.resume(vm)
    assert cloud.clock.wait_until(lambda: vm.is_in(VmState.ACTIVE, LcmState.RUNNING), 5)
    assert null(cloud).running[vm.host_name].keeps_disk is True


@pytest.mark.parametrize("hard", [False, True])
def test_a_guest_that_does_not_obey_loses_its_power(cloud: Cloud, hard: bool) -> None:
    null(cloud).obeys = False
    vm = cloud.vms.get(new_vm(cloud))
    asked_at = cloud.clock.now()
    cloud.vms.poweroff(vm, hard)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.POWEROFF, 200)
    assert cloud.clock.now() - asked_at == (0 if hard else 90)


def test_a_vm_that_is_powered_off_can_be_terminated(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    cloud.vms.poweroff(vm, hard=True)
    cloud.clock.wait_until(lambda: vm.state == VmState.POWEROFF, 5)
    cloud.vms.terminate(vm)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)


def test_what_a_state_does_not_allow(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    for refused in (cloud.vms.resume, cloud.vms.hold, cloud.vms.release):
        with pytest.raises(VmError, match="wrong state ACTIVE, RUNNING"):
            refused(vm)
    cloud.vms.poweroff(vm, hard=True)
    cloud.clock.wait_until(lambda: vm.state == VmState.POWEROFF, 5)
    with pytest.raises(VmError, match="wrong state POWEROFF, LCM_INIT"):
        cloud.vms.poweroff(vm)


def test_a_vm_on_hold_waits_for_its_release(cloud: Cloud) -> None:
    vm = cloud.vms.create("held", {"CPU": "1"}, 0, on_hold=True)
    cloud.clock.advance(60)
    assert vm.is_in(VmState.HOLD, LcmState.LCM_INIT)
    cloud.vms.release(vm)
    assert cloud.clock.wait_until(lambda: vm.is_in(VmState.ACTIVE, LcmState.RUNNING), 5)


# --- delete-recreate ---

AGAIN = ["CLEANUP_RESUBMIT", "PENDING", "PROLOG", "BOOT", "RUNNING"]


def test_delete_recreate_keeps_id_addresses_token_and_user_template(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    cloud.vms.update(vm, "READY=YES\nOLDEST_IDLE=1")
    before = cloud.vm_record(vm.id)
    first = null(cloud).running["vm-0"]
    cloud.vms.delete_recreate(vm)
    assert vm.is_in(VmState.ACTIVE, LcmState.CLEANUP_RESUBMIT)
    assert cloud.clock.wait_until(lambda: history(cloud, vm.id)[-1] == "RUNNING", 60)
    after = cloud.vm_record(vm.id)
    assert {**after, "HISTORY": []} == {**before, "HISTORY": []}
    assert history(cloud, vm.id)[-5:] == AGAIN
    assert null(cloud).calls[-2:] == [("destroy", "vm-0"), ("deploy", "vm-0")]
    assert null(cloud).running["vm-0"] == first
    assert not first.keeps_disk


@pytest.mark.parametrize("state", [LcmState.UNKNOWN, LcmState.SHUTDOWN, LcmState.BOOT_FAILURE])
def test_delete_recreate_from_other_active_states(cloud: Cloud, state: LcmState) -> None:
    null(cloud).obeys = False
    null(cloud).boot_failure = "no room" if state == LcmState.BOOT_FAILURE else ""
    vm = cloud.vms.get(new_vm(cloud))
    if state == LcmState.UNKNOWN:
        cloud.vms.lose_contact(vm)
    if state == LcmState.SHUTDOWN:
        cloud.vms.terminate(vm)
    assert vm.lcm_state == state
    cloud.vms.delete_recreate(vm)
    assert cloud.clock.wait_until(lambda: vm.is_in(VmState.ACTIVE, LcmState.RUNNING), 60)
    assert history(cloud, vm.id)[-5:] == AGAIN
    cloud.clock.advance(300)
    assert vm.is_in(VmState.ACTIVE, LcmState.RUNNING), "the end that was under way is forgotten"


def test_delete_recreate_while_it_starts_or_ends(cloud: Cloud) -> None:
    vm = cloud.vms.get(cloud.create_vm(cloud.create_vm_template(TEMPLATE), "solo"))
    assert cloud.clock.wait_until(lambda: vm.lcm_state == LcmState.BOOT, 60)
    cloud.vms.delete_recreate(vm)
    assert cloud.clock.wait_until(lambda: vm.lcm_state == LcmState.RUNNING, 60)
    assert history(cloud, vm.id) == ["CREATED", "PROLOG", "BOOT", *AGAIN]
    cloud.vms.terminate(vm, hard=True)
    cloud.vms.delete_recreate(vm)
    assert cloud.clock.wait_until(lambda: vm.lcm_state == LcmState.RUNNING, 60)
    assert history(cloud, vm.id)[-7:] == ["SHUTDOWN", "EPILOG", *AGAIN]
    assert len(null(cloud).running) == 1


def test_delete_recreate_of_a_vm_without_a_host(cloud: Cloud) -> None:
    held = cloud.vms.create("held", TEMPLATE, 0, on_hold=True)
    cloud.vms.delete_recreate(held)
    assert held.state == VmState.PENDING
    cloud.vms.delete_recreate(held)
    assert cloud.clock.wait_until(lambda: held.lcm_state == LcmState.RUNNING, 60)
    assert history(cloud, held.id) == ["CREATED", "HOLD", "PENDING", "PROLOG", "BOOT", "RUNNING"]


def test_delete_recreate_is_refused_to_a_vm_that_is_off_or_done(cloud: Cloud) -> None:
    vm = cloud.vms.get(new_vm(cloud))
    cloud.vms.poweroff(vm)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.POWEROFF, 5)
    with pytest.raises(VmError, match="Cannot delete-recreate a powered off VM. Resume it first"):
        cloud.vms.delete_recreate(vm)
    cloud.vms.terminate(vm)
    assert cloud.clock.wait_until(lambda: vm.state == VmState.DONE, 5)
    with pytest.raises(VmError, match="Cannot delete-recreate a VM already in DONE state"):
        cloud.vms.delete_recreate(vm)
