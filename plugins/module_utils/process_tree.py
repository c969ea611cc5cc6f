# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ending every process that this one has started, also those that have left its process group.

ansible-core's workers each make a session of their own, so no signal to a process group reaches them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.05
_LOOKS = 20


def adopt_orphans():
    """Let the descendants whose parents end become children of this process, so that none gets out of sight."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent():
    """Let the kernel kill this process when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_descendants(seconds=5.0):
    """Kill every descendant, those that are born meanwhile too; returns when none is left or the time is over."""
    end = time.monotonic() + seconds
    while True:
        living = _below(os.getpid(), _children())
        _kill(living)
        _reap()
        if not living or time.monotonic() > end:
            return
        time.sleep(_PAUSE_SECONDS)


def end_tree(pid):
    """Kill a child of this process that adopts its own orphans, with every descendant; none of them is reaped.

    It is held until no descendant lives, so that all of them stay in sight. One that the kernel keeps from ending is
    left after a few looks.
    """
    try:
        os.kill(pid, signal.SIGSTOP)
        for _look in range(_LOOKS):
            living = _below(pid, _children())
            if not living:
                break
            _kill(living)
            time.sleep(_PAUSE_SECONDS)
    except ProcessLookupError:
        return
    _kill([pid])


class Orphans:
    """Processes that this one has adopted."""

    def __init__(self):
        self._killed = set()

    def end(self, own):
        """Kill them with their descendants, each once; returns whether there was a new one. own: other children."""
        children = _children()
        orphans = set(children.get(os.getpid(), ())) - set(own)
        found = orphans.union(*(_below(pid, children) for pid in orphans))
        fresh = found - self._killed
        self._killed = found
        _kill(fresh)
        return bool(fresh)


def _kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _children():
    """Parent -> its living children."""
    children = {}
    for name in os.listdir("/proc"):
        parent = _parent(name) if name.isdigit() else None
        if parent is not None:
            children.setdefault(parent, []).append(int(name))
    return children


def _below(ancestor, children):
    found, left = [], [ancestor]
    while left:
        born = children.get(left.pop(), [])
        found += born
        left += born
    return found


def _parent(pid):
    """Parent of a process that lives, else None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            state, parent = stat.read().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)


def _reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
