# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error that the lab raises."""


class LabError(Exception):
    """A sentence that names what failed, where, and what to do."""
