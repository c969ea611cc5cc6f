# SPDX-License-Identifier: GPL-3.0-or-later
"""Hours of an elastic pool in a second: the product's own ticks between a simulated OneFlow and a simulated Slurm.

What is real: ``pool_report.run``, ``pool_reconcile.run`` and ``pool_leave.run`` with their files of memory; what
OneFlow does is ``tests.opennebula`` in virtual time. Slurm is modelled after the recordings.

=====================  ================================================================================================
schedules              schedule (settings, events), generator (from a seed), happenings (what each event does)
the world              world (one run), clock, service (the template), hosts (boots, ticks, ends), doors (the clients
                       that ticks get)
Slurm                  slurm_model (nodes, jobs), slurm_scheduler (starts and reasons), slurm_records (what is shown)
judgement              monitor (what must hold), limits (the two named limits of the contract), floors
many runs              runs (all cores, resumable), guards and guard_runs (each switched off), comparison (of the modes)
looking                shrinking (a failure made short, its story), picture (SVG), command (the command line)
=====================  ================================================================================================
"""
