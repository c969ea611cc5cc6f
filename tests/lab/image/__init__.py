# SPDX-License-Identifier: GPL-3.0-or-later
"""The image that lab hosts boot: Debian, what the lab adds, and the collection baked in by its own playbook.

Three layers, each cached by a digest of all that goes into it: the Debian base, the base with the packages of every
role, and the finished image. A change in a role's tasks rebuilds only the last.
"""
