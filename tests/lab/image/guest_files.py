# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab adds to Debian: the context step, the guest kernel's modules, the demo's user, a quick boot."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.image.cache import digest_of, digest_of_tree
from tests.lab.image.chroot import run_in_tree

GUEST_DIR = Path(__file__).resolve().parents[1] / "guest"
MODULES_DIR = Path("/usr/lib/uml/modules")

ENABLED_UNITS = ("one-context-local.service", "one-context-online.service", "one-context.service")

# Plain users with the same uid on every host, as a directory would give them. Nobody makes their homes here.
USERS = {"alice": 2001}

# Nothing in a guest needs these, and each costs a part of a second of its boot.
MASKED_UNITS = (
    # no terminals: the console is a file
    "console-getty.service",
    "getty-static.service",
    "getty.target",
    "getty@.service",
    "serial-getty@.service",
    "systemd-ask-password-console.path",
    "systemd-ask-password-wall.path",
    # no logins by a person, no seats: sshd and PAM do without
    "systemd-logind.service",
    "systemd-update-utmp-runlevel.service",
    "systemd-update-utmp.service",
    # no hardware: no firmware, no graphics, no huge pages, nothing to trim or to repair
    "dev-hugepages.mount",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "nfs-blkmap.service",
    "modprobe@dm_mod.service",
    "modprobe@drm.service",
    "modprobe@efi_pstore.service",
    "modprobe@loop.service",
    "systemd-pstore.service",
    # no kernel development
    "modprobe@configfs.service",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    # no foreign binaries
    "proc-sys-fs-binfmt_misc.automount",
    "proc-sys-fs-binfmt_misc.mount",
    "systemd-binfmt.service",
    # the journal stays in memory, the random seed comes from the machine
    "systemd-journal-flush.service",
    "systemd-random-seed.service",
    # the context step sets the addresses
    "systemd-networkd-wait-online.service",
    # nothing that works by itself while something is measured
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dpkg-db-backup.timer",
    "man-db.timer",
)
MASKED_GENERATORS = (
    "systemd-bless-boot-generator",
    "systemd-cryptsetup-generator",
    "systemd-getty-generator",
    "systemd-gpt-auto-generator",
    "systemd-hibernate-resume-generator",
    "systemd-integritysetup-generator",
    "systemd-rc-local-generator",
    "systemd-ssh-generator",
    "systemd-system-update-generator",
    "systemd-veritysetup-generator",
)


def guest_digest() -> str:
    files = [path for path in GUEST_DIR.rglob("*") if path.is_symlink() or path.is_file()]
    return digest_of(
        [Path(__file__), digest_of_tree(GUEST_DIR, files), *(directory.name for directory in _module_dirs())]
    )


def add_guest_files(tree: Path, log: Path) -> None:
    """Puts them into the tree of an installed Debian."""
    for source in sorted(GUEST_DIR.rglob("*")):
        target = tree / source.relative_to(GUEST_DIR)
        if source.is_dir():
            target.mkdir(exist_ok=True)
            target.chmod(0o755)
        else:
            target.unlink(missing_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
    for directory in _module_dirs():
        shutil.copytree(directory, tree / "lib/modules" / directory.name, symlinks=True, dirs_exist_ok=True)
    (tree / "etc/fstab").write_text("")
    # pam_env complains about each login when it is not there.
    (tree / "etc/default/locale").write_text("")
    (tree / "etc/hostname").write_text("localhost\n")
    (tree / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
    units = tree / "etc/systemd/system"
    for unit in MASKED_UNITS:
        _link(units / unit, "/dev/null")
    for generator in MASKED_GENERATORS:
        _link(tree / "etc/systemd/system-generators" / generator, "/dev/null")
    for unit in ENABLED_UNITS:
        _link(units / "multi-user.target.wants" / unit, f"/usr/lib/systemd/system/{unit}")
    # What a hypervisor's ACPI button does.
    _link(units / "ctrl-alt-del.target", "/usr/lib/systemd/system/poweroff.target")
    for name, uid in USERS.items():
        run_in_tree(
            tree,
            ["useradd", "--uid", str(uid), "--user-group", "--no-create-home", "--shell", "/bin/bash", name],
            60,
            log,
        )


def _module_dirs() -> list[Path]:
    found = sorted(path for path in MODULES_DIR.glob("*") if path.is_dir())
    if not found:
        raise LabError(f"{MODULES_DIR} holds no modules: install the Debian package user-mode-linux")
    return found


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
