# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tests.lab`: builds the image, starts hosts by hand, looks into them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.lab.addresses import network_context
from tests.lab.errors import LabError
from tests.lab.image.release import BOOKWORM, RELEASES, Release
from tests.lab.lab import HostSpec, Lab

DEFAULT_RUN_DIR = Path(".cache/lab")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    top.add_argument("--run-dir", type=Path, default=DEFAULT_RUN_DIR, help="the lab's folder (default: %(default)s)")
    commands = top.add_subparsers(dest="command", required=True)

    image = commands.add_parser("image", help="build the image unless it is cached, and print its path")
    _add_release(image)
    image.add_argument("--sealed-check", action="store_true", help="also say what the image must not hold but does")

    start = commands.add_parser("start", help="start a host and wait for ssh; the first one makes the lab")
    start.add_argument("name")
    start.add_argument("--number", type=int, required=True, help="last octet of its addresses (2 to 254)")
    start.add_argument("--context", metavar="NAME=VALUE", action="append", default=[], help="one more context variable")
    start.add_argument("--token", help="text of token.txt")
    start.add_argument("--memory-mib", type=int, default=1024)
    start.add_argument("--keep-disk", action="store_true", help="boot from the disk of the last host of this name")
    start.add_argument("--image", type=Path, help="another image than this checkout's")
    _add_release(start)

    stop = commands.add_parser("stop", help="power a host off")
    stop.add_argument("name")
    stop.add_argument("--hard", action="store_true", help="cut its power")

    commands.add_parser("list", help="all hosts of the lab")

    run = commands.add_parser("run", help="run a command on a host as root")
    run.add_argument("name")
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="command")

    shell = commands.add_parser("shell", help="a shell on a host")
    shell.add_argument("name")

    console = commands.add_parser("console", help="what a host wrote to its console")
    console.add_argument("name")
    console.add_argument("--lines", type=int, help="only the last of them")

    commands.add_parser("down", help="end all hosts and remove the lab")
    return top


def _add_release(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--release", choices=RELEASES, default=BOOKWORM.suite, help="Debian release of the image (default: %(default)s)"
    )


def build_image(release: Release) -> Path:
    # Imported here: all else works with Python alone, building needs the tools of the virtual environment.
    from tests.lab.image.build import build_image as build

    return build(lambda line: print(line, file=sys.stderr, flush=True), release)


def image(arguments: argparse.Namespace) -> int:
    release = RELEASES[arguments.release]
    path = build_image(release)
    print(path)
    if arguments.sealed_check:
        from tests.lab.image.sealed import violations

        found = violations(path, release)
        print("\n".join(found) or "sealed", file=sys.stderr)
        return 1 if found else 0
    return 0


def start(arguments: argparse.Namespace) -> int:
    if (arguments.run_dir / "lab.json").exists():
        lab = Lab.open(arguments.run_dir)
    else:
        lab = Lab.create(arguments.run_dir, arguments.image or build_image(RELEASES[arguments.release]))
    context = {"VMID": str(arguments.number), **network_context(arguments.number)}
    for assignment in arguments.context:
        name, separator, value = assignment.partition("=")
        if not separator:
            raise LabError(f"--context {assignment!r}: write NAME=VALUE")
        context[name] = value
    spec = HostSpec(arguments.name, context, arguments.token, arguments.memory_mib)
    lab.start(spec, keep_disk=arguments.keep_disk)
    lab.wait_for_ssh(arguments.name)
    return list_hosts(arguments)


def stop(arguments: argparse.Namespace) -> int:
    Lab.open(arguments.run_dir).stop(arguments.name, hard=arguments.hard)
    return 0


def list_hosts(arguments: argparse.Namespace) -> int:
    lab = Lab.open(arguments.run_dir)
    print(f"namespace {lab.namespace}, image {lab.image}")
    for host in lab.hosts():
        state = "running" if host.running else "off"
        print(f"{host.name:<12} {state:<8} pid {host.pid:<8} core {host.core}  {' '.join(host.addresses)}")
    return 0


def run(arguments: argparse.Namespace) -> int:
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    argv = [*Lab.open(arguments.run_dir).ssh_command(arguments.name), " ".join(words)]
    os.execvp(argv[0], argv)


def shell(arguments: argparse.Namespace) -> int:
    argv = Lab.open(arguments.run_dir).ssh_command(arguments.name)
    argv.insert(-1, "-t")
    os.execvp(argv[0], argv)


def console(arguments: argparse.Namespace) -> int:
    print(Lab.open(arguments.run_dir).console(arguments.name, arguments.lines))
    return 0


def down(arguments: argparse.Namespace) -> int:
    if (arguments.run_dir / "lab.json").exists():
        Lab.open(arguments.run_dir).destroy()
    return 0


COMMANDS = {
    "image": image,
    "start": start,
    "stop": stop,
    "list": list_hosts,
    "run": run,
    "shell": shell,
    "console": console,
    "down": down,
}


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
