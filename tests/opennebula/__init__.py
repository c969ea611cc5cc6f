# SPDX-License-Identifier: GPL-3.0-or-later
"""A faithful OpenNebula for one service: OneGate, OneFlow and the virtual machines behind them.

Every rule is a small pure function in a module named after it; :mod:`tests.opennebula.cloud` puts them together,
:mod:`tests.opennebula.server` serves them and :mod:`tests.opennebula.client` talks to a running simulator.
The rules follow OpenNebula 7.4.0.
"""
