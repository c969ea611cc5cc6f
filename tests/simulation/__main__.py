# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.simulation``: run, guards, compare, story, picture."""

from __future__ import annotations

import sys

from tests.checks.environment import COLLECTIONS_PATH

if __name__ == "__main__":
    sys.path.insert(0, str(COLLECTIONS_PATH))
    from tests.simulation.command import main

    sys.exit(main(sys.argv[1:]))
