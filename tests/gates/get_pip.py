# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the script that ansible-test would fetch to put pip into its virtual environments.

ansible-test takes it from this place, under a name with the version of pip, before it looks anywhere else
(https://github.com/ansible/ansible/issues/77304). PyPI's wheel of that version lies beside it and installs itself.
"""

import os
import runpy
import sys

FOLDER = os.path.dirname(os.path.abspath(os.environ["GET_PIP"]))
WHEEL = next(os.path.join(FOLDER, name) for name in os.listdir(FOLDER) if name.endswith(".whl"))
OTHER_SCRIPTS_OPTIONS = ("--no-setuptools", "--no-wheel")

sys.path.insert(0, WHEEL)
sys.argv = ["pip", "install", "--no-index", WHEEL] + [a for a in sys.argv[1:] if a not in OTHER_SCRIPTS_OPTIONS]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
