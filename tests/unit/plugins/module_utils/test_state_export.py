# SPDX-License-Identifier: GPL-3.0-or-later
"""The state export has at most one client at any moment, whatever a tick is cut off by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_model import Vm
from ansible_collections.onehpc.ondemand.plugins.module_utils.onegate_portal import PortalSearch
from ansible_collections.onehpc.ondemand.plugins.module_utils.state_export import (
    StateExportError,
    decide,
    exported_addresses,
    plan,
    render,
)

DIRECTORY = "/export/slurm"
OPTIONS = "rw,sync"


def portal(*addresses, vm_id=6):
    return PortalSearch((vm_id,), Vm(vm_id, "portal_0", 3, 3, {}, addresses))


def test_portal_that_runs_gets_the_export():
    decision = decide(portal("10.66.0.6", "10.77.0.6"), "10.77.0.0/24")
    assert (decision.address, decision.certain, decision.portal_vm_id) == ("10.77.0.6", True, 6)
    assert decision.reason == "the portal is VM 6 at 10.77.0.6"


def test_no_listed_portal_is_certain():
    decision = decide(PortalSearch((), None), "10.77.0.0/24")
    assert (decision.address, decision.certain) == (None, True)


def test_portal_that_is_listed_and_does_not_run_is_a_doubt():
    decision = decide(PortalSearch((9, 6), None), "10.77.0.0/24")
    assert (decision.address, decision.certain) == (None, False)
    assert decision.reason == "the portal (VM 9, VM 6) is listed, but not in state RUNNING"


@pytest.mark.parametrize("addresses", [(), ("10.66.0.6",), ("10.77.0.6", "10.77.0.7"), ("fd00::1",), ("nonsense",)])
def test_portal_without_exactly_one_address_in_the_network_is_refused(addresses):
    with pytest.raises(StateExportError, match="Portal VM 6 has [02] addresses in 10.77.0.0/24"):
        decide(portal(*addresses), "10.77.0.0/24")


def test_wrong_network_is_refused():
    with pytest.raises(StateExportError, match="'compute' is not a network"):
        decide(portal("10.77.0.6"), "compute")


ETAB = """\
/export/home\t10.77.0.0/24(rw,sync,wdelay,hide,nocrossmnt,secure,root_squash)
/export/slurm\t10.77.0.6(rw,sync,wdelay,hide,nocrossmnt,secure,no_root_squash)
/export/slurm\t10.77.0.9(rw,sync)
/export/slurm-old\t10.77.0.1(rw,sync)
"""


def test_exported_addresses():
    assert exported_addresses(ETAB, DIRECTORY) == ("10.77.0.6", "10.77.0.9")
    assert exported_addresses("", DIRECTORY) == ()


def test_nothing_to_do_when_all_is_as_wanted():
    text = render(DIRECTORY, "10.77.0.6", OPTIONS)
    assert not plan("10.77.0.6", ("10.77.0.6",), text, text).is_needed
    assert not plan(None, (), None, render(DIRECTORY, None, OPTIONS)).is_needed


addresses = st.sampled_from(["10.77.0.6", "10.77.0.9"])


class Server:
    """The file and the kernel's list of an NFS server, and whoever could mount at any moment."""

    def __init__(self, file_text, exported):
        self.file_text = file_text
        self.exported = set(exported)

    def steps(self, address):
        """What one tick does, step by step."""
        wanted = render(DIRECTORY, address, OPTIONS)
        work = plan(address, tuple(sorted(self.exported)), self.file_text, wanted)
        for client in work.unexport:
            yield lambda client=client: self.exported.discard(client)
        if work.write:
            yield lambda: setattr(self, "file_text", wanted)
        if work.refresh:
            yield self.refresh

    def refresh(self):
        self.exported = {line.split()[1].split("(")[0] for line in self.file_text.splitlines() if line[0] == "/"}


@given(
    file_address=st.none() | addresses,
    file_exists=st.booleans(),
    exported=st.sets(addresses),
    ticks=st.lists(st.tuples(st.none() | addresses, st.integers(0, 4)), max_size=4),
    last=st.none() | addresses,
)
def test_ticks_cut_off_anywhere_never_add_a_second_client_and_end_right(
    file_address, file_exists, exported, ticks, last
):
    server = Server(render(DIRECTORY, file_address, OPTIONS) if file_exists else None, exported)
    for address, steps_done in [*ticks, (last, None)]:
        for number, step in enumerate(server.steps(address)):
            if number == steps_done:
                break
            before = set(server.exported)
            step()
            comes = server.exported - before
            assert not comes or (len(comes) == 1 and not before)
    assert server.exported == ({last} if last else set())
    assert list(server.steps(last)) == []
