# SPDX-License-Identifier: GPL-3.0-or-later
"""Web servers of users among the processes of the portal."""

from __future__ import annotations

import pytest

from ansible_collections.onehpc.ondemand.plugins.module_utils.user_nginx import count_user_nginx

ALICE = b"nginx: master process (alice) -c /var/lib/ondemand-nginx/config/puns/alice.conf\0\0\0"
BOB = b"nginx: master process (bob) -c /var/lib/ondemand-nginx/config/puns/bob.conf"
OTHERS = [
    b"",
    b"nginx: worker process\0",
    b"nginx: master process /usr/sbin/nginx -g daemon on;\0",
    b"(carol)\0-c\0/var/lib/ondemand-nginx/config/puns/carol.conf\0-s\0stop\0",
    b"grep\0nginx: master process (alice)\0",
]


@pytest.mark.parametrize(("commands", "users"), [([], 0), ([ALICE], 1), ([ALICE, *OTHERS, BOB, ALICE], 2)])
def test_each_user_counts_once(tmp_path, commands, users):
    for number, command in enumerate(commands, start=100):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "cmdline").write_bytes(command)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cmdline").write_bytes(ALICE.replace(b"alice", b"zoe"))
    (tmp_path / "99").mkdir()  # has ended in this moment
    assert count_user_nginx(tmp_path) == users


def test_this_machine_has_processes_but_none_of_them():
    assert count_user_nginx() == 0
