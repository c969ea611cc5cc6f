# SPDX-License-Identifier: GPL-3.0-or-later
# Every target does its own set-up on a fresh Debian machine as root.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup lint checks unit gates contract slurm lab service molecule boot pool simulate simulate-picture debian13 test test-full bench demo demo-keep demo-down clean
.NOTPARALLEL:

python := .venv/bin/python
stages := $(python) -m tests.checks.stages

help: ## this text
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## Debian packages, .venv and collections, once
	@tests/setup/install.sh

lint: setup ## ansible-lint, yamllint, ruff, shellcheck
	@$(stages) lint

checks: setup ## rules of this repository that no linter knows
	@$(stages) checks

unit: setup ## unit tests
	@$(stages) unit

gates: setup ## the gates of others: ansible-test, Galaxy's importer, REUSE, systemd, the README's commands
	@$(stages) gates

contract: setup ## the simulator against recordings of a real OpenNebula
	@$(stages) contract

slurm: setup ## plugins against a real Slurm in namespaces
	@$(stages) slurm

lab: setup ## the lab's hosts and the sealed image
	@$(stages) lab

service: setup ## the demo's service on real hosts, with its assertions
	@$(stages) service

molecule: setup ## the roles' molecule scenarios: over ssh, on hosts that they share
	@$(stages) molecule

boot: setup ## first boots that go wrong, as a molecule scenario
	@$(stages) boot

pool: setup ## the pool's decisions on real hosts, as a molecule scenario
	@$(stages) pool

simulate: setup ## 3,000 simulated schedules of the pool, each guard switched off, both modes side by side
	@$(stages) simulate

simulate-picture: setup ## draw one schedule: seed=N
	@$(python) -m tests.simulation picture --seed $(or $(seed),1)

debian13: setup ## the service's tests on hosts of Debian 13
	@$(stages) debian13

test: ## the stages of every day; the last line is `N passed, N failed`
	@tests/setup/install.sh || { echo '0 passed, 1 failed'; exit 1; }
	@$(stages) $(stages_options)

test-full: ## all stages, each scenario with its minutes
	@$(MAKE) --silent test stages_options=--full

bench: setup ## what a tick costs, warm and cold, beside a bare ansible-playbook; fails above its bars
	@$(stages) bench

demo: setup ## bring up the service, run jobs, watch the pool grow and shrink, end it
	@$(python) -m tests.service.demo run

demo-keep: setup ## the same, but the service stays up to look around in
	@$(python) -m tests.service.demo run --keep

demo-down: setup ## end the service that demo-keep left running
	@$(python) -m tests.service.demo down

clean: setup demo-down ## remove what set-up and tests made in this checkout
	@rm -rf .cache .venv .ansible .ruff_cache tests/output
