# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What holds for every module of this collection; a module documents only how it differs."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Tells what it would do, with the result of a real run, and changes nothing.
    support: full
  diff_mode:
    description: Shows what differs before and after.
    support: full
  platform:
    description: The systems it runs on.
    support: full
    platforms: linux
"""
