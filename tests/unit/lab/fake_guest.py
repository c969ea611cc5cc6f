#!/usr/bin/python3 -IS
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands for linux.uml: a process with a session, a console and a management console of its own, but no kernel.

The host's name (the name of its folder) says how it behaves: "crash" ends at once, "deaf" ignores Ctrl-Alt-Del,
"restless" reboots once.
"""

import os
import signal
import socket
import struct
import sys

name = os.path.basename(os.environ["HOME"])
arguments = dict(argument.partition("=")[::2] for argument in sys.argv[1:])

os.setsid()
print("kernel of", name, flush=True)
print(*sys.argv[1:], sep="\n", flush=True)
if name == "crash":
    print("Kernel panic - not syncing", flush=True)
    sys.exit(1)

with open(arguments["ubd0"].split(",")[0], "a+") as disk:
    disk.write("booted\n")
    disk.seek(0)
    boots = disk.read().count("booted")

if name == "restless" and boots == 1:
    print("reboot: Restarting system", flush=True)
    sys.exit(0)

# Like the real one it has a helper that outlives it when it is killed.
if os.fork() == 0:
    signal.pause()

directory = arguments["uml_dir"] + arguments["umid"]
os.mkdir(directory)
console = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
console.bind(directory + "/mconsole")
while True:
    request, sender = console.recvfrom(4096)
    _, _, length = struct.unpack_from("=III", request)
    command = request[12 : 12 + length]
    console.sendto(struct.pack("=III", 0, 0, 1) + b"\0", sender)
    if command == b"cad" and name != "deaf":
        print("reboot: System halted", flush=True)
        sys.exit(0)
