# SPDX-License-Identifier: GPL-3.0-or-later
"""A faithful OpenNebula for one service: OneGate, OneFlow and the virtual machines behind them.

Each rule is a small pure function in the module named after it; the rules follow OpenNebula 7.4.0.

======================  ===============================================================================================
updates of a VM         escaping (OneGate's), template_syntax (the core's), user_template (merge and show)
OneGate                 onegate: a function from a request to a response
services                service_templates (validation, instantiation), services (bodies), oneflow (life cycle, watchdog,
                        autoscaler), waits and ready_gate, watchdog, deployment_order, oneflow_rest
growing and shrinking   expressions (grammar), elasticity (means, periods, decisions)
virtual machines        vms (life), instantiation and parent_values (templates), contexts, networks, states
guests                  hypervisor (interface, NullHypervisor), lab_hypervisor (hosts of tests.lab)
time                    clock: SystemClock, and VirtualClock in which hours pass in milliseconds
going wrong             faults and dates, ordered through control_faults
the running simulator   cloud (all of it under one lock), events, settings, control, messages, server, simulator,
                        client, and ``python -m tests.opennebula serve``
======================  ===============================================================================================
"""
