# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the clock is off, from what chrony and a proxy before OneGate say."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.checks.environment import ROOT

PLAY = """\
- hosts: localhost
  gather_facts: false
  vars_files: [{vars_file}]
  tasks:
    - ansible.builtin.debug:
        msg: "{{{{ item.name }}}}={{{{ common_clock_offset_seconds | float }}}}"
      loop: "{{{{ cases }}}}"
      vars:
        common_chrony: "{{{{ {{'stdout': item.chrony}} }}}}"
        common_onegate: "{{{{ {{'clock_skew_seconds': item.onegate}} }}}}"
"""
NO_SOURCE = "try: 1, refid: 00000000, correction: 0.000000000, skew: 0.000"
IN_TIME = "try: 2, refid: C0000201, correction: 0.000012345, skew: 0.120"
WRONG = "try: 2, refid: C0000201, correction: 3600.250000000, skew: 0.120"
CASES = {
    "no chrony": ("506 Cannot talk to daemon", None, 0),
    "no source": (NO_SOURCE, None, 0),
    "in time": (f"{NO_SOURCE}\n{IN_TIME}", None, 0.000012345),
    "wrong by chrony": (f"{NO_SOURCE}\n{WRONG}", None, 3600.25),
    "corrected meanwhile": (f"{WRONG}\n{IN_TIME}", None, 0.000012345),
    "wrong by a proxy": (IN_TIME, -125.5, 125.5),
}


@pytest.fixture(scope="module")
def offsets(tmp_path_factory):
    """Offset by the name of the case, from one play."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "play.yml").write_text(PLAY.format(vars_file=ROOT / "roles/common/vars/main/clock.yml"))
    cases = [{"name": name, "chrony": chrony, "onegate": date} for name, (chrony, date, _) in CASES.items()]
    argv = ["ansible-playbook", "-i", "localhost,", "play.yml", "-e", json.dumps({"cases": cases})]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split('"msg": ')[1].strip('"') for line in done.stdout.splitlines() if '"msg": ' in line]
    return {name: float(offset) for name, offset in (line.split("=") for line in lines)}


@pytest.mark.parametrize("name", CASES)
def test_offset(offsets, name):
    assert offsets[name] == pytest.approx(CASES[name][2])
