# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A forked child that becomes what the tick's unit would have executed itself."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Callable

from ansible_collections.onehpc.ondemand.plugins.module_utils.process_tree import adopt_orphans, die_with_parent
from ansible_collections.onehpc.ondemand.plugins.module_utils.tick_request import TickRequest

COLLECTIONS_PACKAGE = "ansible_collections"


def run_as_child(request: TickRequest, streams: list, run: Callable[[list], int]) -> None:
    """Call `run` with the command's argv as that command would run, and end this process with the status it returns.

    Nothing of the runner's collection stays loaded: the playbook loads its own, from where Ansible finds it now.
    """
    status = 1
    try:
        die_with_parent()
        adopt_orphans()
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(request.environment)
        os.umask(request.umask)
        os.chdir(request.directory)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.argv = list(request.argv)
        forget_collections()
        status = run(request.argv)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


def forget_collections() -> None:
    """Unload every collection and forget where the runner's own was found."""
    for name in [name for name in sys.modules if name.partition(".")[0] == COLLECTIONS_PACKAGE]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if not os.path.isdir(os.path.join(path, COLLECTIONS_PACKAGE))]
