# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a host, sent there as its text: runs commands one after the other and meanwhile watches all processes.

Standard library only. Arguments: the commands of a shell. Prints one JSON document:
outputs: for each command its exit code and what it printed, in base64;
arguments: each command line that was seen, in base64;
environments: each environment that was seen of a process that is not root's, in base64.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading

LOOK_EVERY_SECONDS = 0.5


def look(arguments, environments):
    """One look at all processes but this one; those that end meanwhile are left out."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                arguments.add(stream.read())
            if os.stat(f"/proc/{pid}").st_uid != 0:
                with open(f"/proc/{pid}/environ", "rb") as stream:
                    environments.add(stream.read())
        except (FileNotFoundError, ProcessLookupError):
            continue


def watch(stop, arguments, environments):
    while not stop.wait(LOOK_EVERY_SECONDS):
        look(arguments, environments)


def run(command):
    with tempfile.TemporaryFile() as output:
        code = subprocess.run(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        ).returncode
        output.seek(0)
        return {"code": code, "output": text_of(output.read())}


def text_of(content):
    return base64.b64encode(content).decode()


def main(commands):
    arguments, environments = set(), set()
    look(arguments, environments)
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(stop, arguments, environments))
    watcher.start()
    try:
        outputs = [run(command) for command in commands]
    finally:
        stop.set()
        watcher.join()
    seen = {
        "outputs": outputs,
        "arguments": [text_of(content) for content in arguments],
        "environments": [text_of(content) for content in environments],
    }
    json.dump(seen, sys.stdout)


main(sys.argv[1:])
