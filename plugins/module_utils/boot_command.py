# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright: (c) 2026, onehpc.ondemand contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The launcher's command line."""

from __future__ import annotations

import argparse
import dataclasses
import functools

from ansible_collections.onehpc.ondemand.plugins.module_utils.boot import boot
from ansible_collections.onehpc.ondemand.plugins.module_utils.boot_settings import BootSettings
from ansible_collections.onehpc.ondemand.plugins.module_utils.process_tree import adopt_orphans

_TYPES = {"str": str, "float": float}


def main(arguments):
    """Run one attempt with the settings that `arguments` (list of str) change; returns the exit status."""
    parser = argparse.ArgumentParser(prog="first-boot", description="Bring this host into its role.")
    for field in dataclasses.fields(BootSettings):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=_TYPES[field.type], default=field.default, help="default: %(default)s")
    adopt_orphans()
    return boot(BootSettings(**vars(parser.parse_args(arguments))), say=functools.partial(print, flush=True))
