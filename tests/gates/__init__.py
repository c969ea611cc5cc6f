# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates that others hold a collection against: ansible-test, Galaxy's importer, the documentation's linters, REUSE,
systemd, and the reader who types what the README says.

Each test is one gate. The run ends with a table of their names, versions and what each has counted.
"""
