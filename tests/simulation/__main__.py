# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.simulation``: run, guards, compare, story, picture."""

from __future__ import annotations

import sys

from tests.simulation.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
