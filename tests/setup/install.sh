#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sets up everything that linting, the tests and the lab need, on a fresh Debian machine as root:
# Debian packages, a virtual environment (.venv), the needed collections (.cache/collections).
# Uses apt, /usr/bin/python3 and pip with the machine's own settings. Does nothing that is done.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/.venv
cache=$root/.cache
log=$cache/setup.log

fail() {
  printf 'setup: %s\n' "$1" >&2
  [ ! -s "$log" ] || { printf 'setup: last lines of %s:\n' "$log" >&2; tail -n 20 "$log" >&2; }
  exit 1
}

say() { printf 'setup: %s\n' "$1"; }

listed() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"; }

missing_packages() {
  local package
  for package in $(listed "$here/packages.txt"); do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || fail "these Debian packages are missing and only root can install them: ${missing[*]}"
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=300 update >>"$log" 2>&1 || fail 'apt-get update failed'
  leave_services_off
  apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends "${missing[@]}" >>"$log" 2>&1 \
    || fail 'apt-get install failed'
}

# Debian starts the daemons that it installs, unless this script says no. One that is there already stays in charge.
leave_services_off() {
  policy=/usr/sbin/policy-rc.d
  [ ! -e "$policy" ] || return 0
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 0755 "$policy"
}

digest() { { /usr/bin/python3 --version; cat "$@"; } | sha256sum | cut -d ' ' -f 1; }

install_venv() {
  local want
  want=$(digest "$root/requirements.txt" "$here/requirements.txt")
  [ "$(cat "$venv/.digest" 2>/dev/null)" != "$want" ] || return 0
  say "building the virtual environment $venv"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv" >>"$log" 2>&1 || fail 'python3 -m venv failed'
  "$venv/bin/python" -m pip install --requirement "$root/requirements.txt" --requirement "$here/requirements.txt" \
    >>"$log" 2>&1 || fail 'pip install failed'
  printf '%s\n' "$want" >"$venv/.digest"
}

install_collections() {
  local target=$cache/collections want
  want=$(digest "$here/collections.txt" "$here/unpack_collections.py")
  if [ "$(cat "$target/.digest" 2>/dev/null)" != "$want" ]; then
    say "unpacking collections to $target"
    rm -rf "$target" "$cache/wheel"
    mkdir -p "$target" "$cache/wheel"
    "$venv/bin/python" -m pip download --no-deps --dest "$cache/wheel" \
      "$(listed "$here/collections.txt" | grep '==')" >>"$log" 2>&1 || fail 'pip download of the ansible release failed'
    listed "$here/collections.txt" | grep -v '==' \
      | "$venv/bin/python" "$here/unpack_collections.py" "$cache"/wheel/ansible-*.whl "$target" >>"$log" 2>&1 \
      || fail 'unpacking the collections failed'
    rm -rf "$cache/wheel"
    printf '%s\n' "$want" >"$target/.digest"
  fi
  # The checkout under its collection name, whatever its folder is called.
  mkdir -p "$target/ansible_collections/onehpc"
  ln -sfn ../../../.. "$target/ansible_collections/onehpc/ondemand"
}

mkdir -p "$cache"
exec 9>"$cache/setup.lock"
flock --wait 1200 9 || fail 'another set-up of this checkout has been running for 20 minutes'
started=$SECONDS
: >"$log"
install_packages
install_venv
install_collections
say "done in $((SECONDS - started)) s"
