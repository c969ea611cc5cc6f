# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab: hosts that boot their own kernel, on two networks inside one network namespace.

Any process that opens the same run directory sees the same lab: its state is files there, changed under a lock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab import mconsole, ssh
from tests.lab.context_disk import make_context_disk
from tests.lab.cores import choose_core
from tests.lab.errors import LabError
from tests.lab.namespace import MANAGEMENT, Namespace, Result, bridge_of
from tests.lab.uml import NetworkCard, kernel_arguments, processes_of, start_guest, started_at

__all__ = ["Host", "HostSpec", "Lab", "LabError"]

SHARED_MEMORY = Path("/dev/shm")
CONSOLE_LINES = 40
KILL_SECONDS = 30
POLL_SECONDS = 0.1
# A key press before the guest's init listens is lost: it is pressed again.
REPEAT_CTRL_ALT_DEL_SECONDS = 10


@dataclass(frozen=True)
class HostSpec:
    """A host to start.

    context: variables of its context disk; ETH0_IP and ETH0_MAC (and so on) become its network cards.
    token: text of token.txt; None leaves the file out.
    kernel_arguments: more words for the kernel's command line.
    """

    name: str
    context: Mapping[str, str]
    token: str | None = None
    memory_mib: int = 1024
    kernel_arguments: Sequence[str] = ()


@dataclass(frozen=True)
class Host:
    """A host that the lab started. addresses: one for each network card, the first is the one ssh uses."""

    name: str
    pid: int
    core: int
    addresses: tuple[str, ...]
    running: bool


@dataclass
class _Record:
    """What hosts/NAME/host.json holds."""

    name: str
    number: int
    umid: str
    core: int
    memory_mib: int
    addresses: list[str]
    taps: list[str] = field(default_factory=list)
    pid: int = 0
    started_at: int | None = None

    def running(self) -> bool:
        return self.started_at is not None and started_at(self.pid) == self.started_at


class Lab:
    """See the module. Make one by `Lab.create`, reach it from another process by `Lab.open`."""

    def __init__(self, run_dir: Path):
        """Opens the lab of this directory; LabError when there is none."""
        self.run_dir = Path(run_dir).resolve()
        try:
            state = json.loads(self._state_file.read_text())
        except FileNotFoundError:
            raise LabError(f"{self.run_dir} holds no lab: create one, or name the directory of a running one") from None
        self.id: str = state["id"]
        self.image = Path(state["image"])
        self.scratch_dir = Path(state["scratch_dir"])
        self._namespace = Namespace(state["namespace"])
        self._processes: dict[str, subprocess.Popen] = {}

    # -- the lab ------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, run_dir: Path, image: Path) -> Lab:
        """Makes the namespace with its bridges, and the key pair of the lab. Nothing boots yet."""
        run_dir = Path(run_dir).resolve()
        run_dir.mkdir(parents=True, exist_ok=True)
        if (run_dir / "lab.json").exists():
            raise LabError(f"{run_dir} already holds a lab: take it down first")
        if not Path(image).is_file():
            raise LabError(f"there is no image {image}: build it with `python -m tests.lab image`")
        lab_id = secrets.token_hex(4)
        scratch_dir = SHARED_MEMORY / f"onehpc-{lab_id}"
        state = {
            "id": lab_id,
            "namespace": f"onehpc-{lab_id}",
            "image": str(Path(image).resolve()),
            "scratch_dir": str(scratch_dir),
        }
        # Written before anything is made: whatever happens next, destroy finds it.
        _write_json(run_dir / "lab.json", state)
        lab = cls(run_dir)
        try:
            scratch_dir.mkdir(mode=0o700)
            (run_dir / "hosts").mkdir(exist_ok=True)
            ssh.make_key_pair(lab._key)
            lab._namespace.create()
        except BaseException:
            lab.destroy()
            raise
        return lab

    @classmethod
    def open(cls, run_dir: Path) -> Lab:
        """The lab that another process created in this directory."""
        return cls(run_dir)

    @property
    def namespace(self) -> str:
        """Name for `ip netns exec`."""
        return self._namespace.name

    def call_inside(self, function: Callable[[], Result]) -> Result:
        """Calls function inside the namespace: a socket that it makes is on the lab's networks."""
        return self._namespace.call_inside(function)

    @property
    def management_gateway(self) -> str:
        """Address of the management bridge: the hosts' default gateway, and reachable for servers in the namespace."""
        return MANAGEMENT.gateway

    def hosts(self) -> list[Host]:
        """Every host started since the lab was created, in that order, also those that no longer run."""
        return [
            Host(record.name, record.pid, record.core, tuple(record.addresses), self._is_running(record))
            for record in self._records()
        ]

    def destroy(self, keep_consoles: bool = False) -> None:
        """Cuts the power of every host and removes all that the lab made. A second call finds nothing to do.

        keep_consoles leaves hosts/NAME/console.log behind.
        """
        if not self._state_file.exists():
            return
        for record in self._records():
            self._kill(record)
            self._close_connection(record)
        self._namespace.delete()
        shutil.rmtree(self.scratch_dir, ignore_errors=True)
        for path in self.run_dir.glob("hosts/*/*"):
            if keep_consoles and path.name == "console.log":
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        if not keep_consoles:
            shutil.rmtree(self.run_dir / "hosts", ignore_errors=True)
        for path in (self._key, self._key.with_suffix(".pub"), self._lock_file, self._state_file):
            path.unlink(missing_ok=True)

    # -- one host -----------------------------------------------------------------------------------------------

    def start(self, spec: HostSpec, keep_disk: bool = False) -> Host:
        """Starts the host's kernel and returns at once. A name may be used again when its host no longer runs.

        keep_disk: boots from the disk that an earlier host of this name left, as a machine switched on again.
        """
        directory = self._host_dir(spec.name)
        cards = _network_cards(spec)
        with self._locked():
            records = self._records()
            running = [record for record in records if self._is_running(record)]
            if spec.name in [record.name for record in running]:
                raise LabError(f"host {spec.name} already runs")
            addresses = [address for address, _ in cards]
            self._refuse_taken_addresses(spec, addresses, running)
            for record in records:
                if record.name == spec.name:
                    self._kill(record)
                    self._remove_taps(record)
                if record not in running and record.addresses[0] == addresses[0]:
                    self._close_connection(record)
            number = 1 + max((record.number for record in records), default=0)
            record = _Record(
                name=spec.name,
                number=number,
                umid=f"onehpc-{self.id}-{number}",
                core=choose_core(os.sched_getaffinity(0), [other.core for other in running]),
                memory_mib=spec.memory_mib,
                addresses=addresses,
                taps=[f"{bridge_of(address).name}-{number}" for address, _ in cards],
            )
            directory.mkdir(parents=True, exist_ok=True)
            if not keep_disk:
                (directory / "disk.cow").unlink(missing_ok=True)
            make_context_disk(directory / "context.img", self._with_own_key(spec.context), spec.token)
            self._write_record(record)
            for tap, (address, _) in zip(record.taps, cards, strict=True):
                self._namespace.add_tap(tap, bridge_of(address))
            process = start_guest(
                self._namespace.command(),
                [
                    *kernel_arguments(
                        record.umid,
                        self.scratch_dir,
                        self.image,
                        spec.memory_mib,
                        [NetworkCard(tap, mac) for tap, (_, mac) in zip(record.taps, cards, strict=True)],
                    ),
                    *spec.kernel_arguments,
                ],
                record.core,
                directory,
                self.scratch_dir,
            )
            self._processes[record.umid] = process
            record.pid = process.pid
            record.started_at = started_at(process.pid)
            self._write_record(record)
        return Host(record.name, record.pid, record.core, tuple(record.addresses), True)

    def wait_for_ssh(self, name: str, timeout_seconds: float = 90) -> None:
        """Returns when the host takes a command; LabError with its last console lines when it dies or never does."""
        record = self._record(name)
        end = time.monotonic() + timeout_seconds
        while True:
            left = end - time.monotonic()
            if not self._is_running(record):
                raise LabError(f"host {name} ended before it answered ssh.\n{self._last_console_lines(name)}")
            if left <= 0:
                raise LabError(
                    f"host {name} ({record.addresses[0]}) did not answer ssh within {timeout_seconds:g} s."
                    f"\n{self._last_console_lines(name)}"
                )
            if ssh.answers(self._namespace, record.addresses[0], min(1.0, left)):
                with contextlib.suppress(LabError):
                    self.run(name, "true", timeout_seconds=left)
                    return
            time.sleep(POLL_SECONDS)

    def run(
        self,
        name: str,
        command: str | Sequence[str],
        timeout_seconds: float = 60,
        check: bool = True,
        user: str = "root",
        input: str | None = None,
    ) -> subprocess.CompletedProcess:
        """Runs a shell command, or one program with its arguments, on the host and returns what it printed as text.

        LabError when the host cannot be reached, the time is over, or (with check) the command fails.
        """
        text = command if isinstance(command, str) else shlex.join(command)
        remote = text if user == "root" else shlex.join(["runuser", "-u", user, "--", "sh", "-c", text])
        streams = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        try:
            done = subprocess.run(
                [*self.ssh_command(name), remote],
                text=True,
                capture_output=True,
                timeout=timeout_seconds,
                check=False,
                **streams,
            )
        except subprocess.TimeoutExpired:
            raise LabError(f"host {name}: `{text}` did not end within {timeout_seconds:g} s") from None
        if done.returncode == 255 and not self.is_running(name):
            raise LabError(f"host {name} no longer runs.\n{self._last_console_lines(name)}")
        if check and done.returncode != 0:
            raise LabError(
                f"host {name}: `{text}` ended with {done.returncode}: {(done.stderr.strip() or done.stdout.strip())}"
            )
        return done

    def ssh_command(self, name: str) -> list[str]:
        """argv of ssh as root to the host; the remote command is appended to it."""
        return ssh.ssh_argv(self._namespace, self._key, self.scratch_dir, self._record(name).addresses[0])

    def ansible_inventory_vars(self, name: str) -> dict[str, object]:
        """Inventory variables with which Ansible, outside the namespace, reaches the host."""
        return ssh.ansible_variables(self._namespace, self._key, self._record(name).addresses[0])

    def is_running(self, name: str) -> bool:
        """Whether the host's kernel runs. False for a name that the lab does not know."""
        return any(record.name == name and self._is_running(record) for record in self._records())

    def stop(self, name: str, hard: bool = False, timeout_seconds: float = 90) -> None:
        """Stops the host and removes its taps; its disk and console stay. Nothing happens to one that is off.

        Clean: Ctrl-Alt-Del, which the image maps to power off, as a hypervisor's ACPI button. Hard: a power cut.
        LabError when a clean stop is not done in time: the host still runs then.
        """
        record = self._record(name)
        if not hard:
            self._shut_down(record, timeout_seconds)
        self._kill(record)
        self._close_connection(record)
        with self._locked():
            self._remove_taps(record)

    def freeze(self, name: str) -> None:
        """Stops the host where it is: it answers nobody until `thaw`, and nobody is told."""
        mconsole.ask(self.scratch_dir / self._record(name).umid / "mconsole", "stop")

    def thaw(self, name: str) -> None:
        """Lets a frozen host go on."""
        mconsole.ask(self.scratch_dir / self._record(name).umid / "mconsole", "go")

    def console(self, name: str, lines: int | None = None) -> str:
        """The host's console since its last start, or the last lines of it, without what moves a cursor."""
        self._record(name)
        text = (self._host_dir(name) / "console.log").read_text(errors="replace")
        text = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|M)|\r", "", text)
        kept = [line for line in text.split("\n") if line.strip()]
        return "\n".join(kept if lines is None else kept[-lines:])

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _state_file(self) -> Path:
        return self.run_dir / "lab.json"

    @property
    def _lock_file(self) -> Path:
        return self.run_dir / "lab.lock"

    @property
    def _key(self) -> Path:
        return self.run_dir / "ssh-key"

    def _host_dir(self, name: str) -> Path:
        if not name or "/" in name or name.startswith("."):
            raise LabError(f"{name!r} cannot be the name of a host")
        return self.run_dir / "hosts" / name

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self._lock_file, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _records(self) -> list[_Record]:
        found = [_Record(**json.loads(path.read_text())) for path in self.run_dir.glob("hosts/*/host.json")]
        return sorted(found, key=lambda record: record.number)

    def _record(self, name: str) -> _Record:
        try:
            return _Record(**json.loads((self._host_dir(name) / "host.json").read_text()))
        except FileNotFoundError:
            known = ", ".join(record.name for record in self._records()) or "none"
            raise LabError(f"the lab has no host {name} (hosts: {known})") from None

    def _write_record(self, record: _Record) -> None:
        _write_json(self._host_dir(record.name) / "host.json", dataclasses.asdict(record))

    def _is_running(self, record: _Record) -> bool:
        process = self._processes.get(record.umid)
        if process is not None and process.poll() is not None:
            return False
        return record.running()

    def _with_own_key(self, context: Mapping[str, str]) -> dict[str, str]:
        own = self._key.with_suffix(".pub").read_text().strip()
        given = context.get("SSH_PUBLIC_KEY", "").strip()
        return {**context, "SSH_PUBLIC_KEY": f"{given}\n{own}" if given else own}

    def _refuse_taken_addresses(self, spec: HostSpec, addresses: list[str], running: list[_Record]) -> None:
        for record in running:
            for address in [address for address in addresses if address in record.addresses]:
                raise LabError(f"host {spec.name}: the address {address} belongs to the running host {record.name}")

    def _shut_down(self, record: _Record, timeout_seconds: float) -> None:
        end = time.monotonic() + timeout_seconds
        press_at = time.monotonic()
        while self._is_running(record):
            now = time.monotonic()
            if now >= end:
                raise LabError(
                    f"host {record.name} did not power off within {timeout_seconds:g} s (it still runs)."
                    f"\n{self._last_console_lines(record.name)}"
                )
            if now >= press_at:
                # A guest that just started has no management console yet: soon again.
                with contextlib.suppress(LabError):
                    mconsole.ask(self.scratch_dir / record.umid / "mconsole", "cad", timeout_seconds=5)
                    press_at = now + REPEAT_CTRL_ALT_DEL_SECONDS
            time.sleep(POLL_SECONDS)

    def _kill(self, record: _Record) -> None:
        end = time.monotonic() + KILL_SECONDS
        groups = {record.pid}
        while left := processes_of(record.umid, groups):
            groups.update(left.values())
            if time.monotonic() > end:
                raise LabError(f"host {record.name}: its processes {sorted(left)} do not die")
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_SECONDS)
        if record.umid in self._processes:
            self._processes[record.umid].wait(KILL_SECONDS)

    def _close_connection(self, record: _Record) -> None:
        ssh.close_connection(self._namespace, self._key, self.scratch_dir, record.addresses[0])

    def _remove_taps(self, record: _Record) -> None:
        for tap in record.taps:
            self._namespace.remove_tap(tap)
        shutil.rmtree(self.scratch_dir / record.umid, ignore_errors=True)

    def _last_console_lines(self, name: str) -> str:
        return f"Last lines of its console:\n{self.console(name, CONSOLE_LINES)}"


def _network_cards(spec: HostSpec) -> list[tuple[str, str]]:
    """(address, hardware address) of ETH0, ETH1 and so on; LabError when there is none or one is half given."""
    cards = []
    while f"ETH{len(cards)}_IP" in spec.context:
        number = len(cards)
        mac = spec.context.get(f"ETH{number}_MAC")
        if not mac:
            raise LabError(f"host {spec.name}: the context gives ETH{number}_IP but no ETH{number}_MAC")
        cards.append((spec.context[f"ETH{number}_IP"], mac))
    if not cards:
        raise LabError(f"host {spec.name}: the context gives no ETH0_IP, so the host would have no network")
    return cards


def _write_json(path: Path, content: object) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    temporary.replace(path)
