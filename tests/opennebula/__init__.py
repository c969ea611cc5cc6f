# SPDX-License-Identifier: GPL-3.0-or-later
"""A faithful OpenNebula for one service: OneGate, OneFlow and the virtual machines behind them.

Each rule is a small pure function in the module named after it; the rules follow OpenNebula 7.4.0.

======================  ===============================================================================================
updates of a VM         escaping (OneGate's), template_syntax (the core's), user_template (merge and show)
OneGate                 onegate: a function from a request to a response; onegate_answers, onegate_updates and erasing,
                        onegate_actions, onegate_errors, onegate_settings
the core's own calls    oned: XML-RPC look-ups of VMs, templates, images and networks, and a VM's recreation;
                        vm_documents, oned_documents, xml_documents, images
service templates       service_templates (validation, instantiation), old_templates (the 6.x form), service_updates
services                oneflow (what may be asked), services (bodies), records and server_log (what is noted)
their life              steps with deployment, scaling, removal, role_changes and recovery; waits and ready_gate,
                        watchdog, deployment_order, role_nodes (VMs of a role), role_actions
growing and shrinking   autoscaler, elasticity (means, periods, decisions), expressions (grammar)
OneFlow's REST          oneflow_rest, service_requests, template_requests, oneflow_answers, oneflow_errors
virtual machines        vms (life), instantiation and parent_values (templates), contexts, networks, states
guests                  hypervisor (interface, NullHypervisor), lab_hypervisor (hosts of tests.lab)
time                    clock: SystemClock, and VirtualClock in which hours pass in milliseconds
going wrong             conditions of the cloud; faults and dates, ordered through control_faults
the running simulator   cloud (all of it under one lock), events, settings, control, messages, server, simulator,
                        client, and ``python -m tests.opennebula serve``
======================  ===============================================================================================
"""
