# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool's metrics as text, and the dashboard that shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.onehpc.ondemand.plugins.module_utils.pool_metrics import (
    PoolMetrics,
    RoleMetrics,
    WorkerMetrics,
    render,
    render_accounting,
    render_decisions,
)

DASHBOARD = Path(__file__).parents[4] / "playbooks" / "files" / "grafana_dashboard.json"
WORKERS = (
    WorkerMetrics(3, "worker_3", "10.77.0.3", 2, 0, 1, 1, 1_800_000_000),
    WorkerMetrics(4, "worker_4", "10.77.0.4", active_sessions=0),
)
FULL = PoolMetrics(
    scrape_ok=True,
    user_nginx=4,
    service_state=2,
    idle_nodes=1,
    alloc_nodes=2,
    roles=(RoleMetrics("portal", 1), RoleMetrics("worker", 3, pending=5, wanted=2)),
    workers=WORKERS,
    frozen=(("warning", False), ("scaling", True)),
)


def values(text):
    """Metric -> {its labels' values in their names' order, joined by a space: value}."""
    return {
        family.name: {
            " ".join(value for _name, value in sorted(sample.labels.items())): sample.value for sample in family.samples
        }
        for family in text_string_to_metric_families(text)
    }


def test_every_metric_with_its_labels():
    third, fourth = "10.77.0.3 worker_3 3", "10.77.0.4 worker_4 4"
    assert values(render(FULL)) == {
        "ood_exporter_scrape_ok": {"": 1},
        "ood_portal_puns": {"": 4},
        "ood_service_state": {"": 2},
        "ood_slurm_idle_nodes": {"": 1},
        "ood_slurm_alloc_nodes": {"": 2},
        "ood_role_cardinality": {"portal": 1, "worker": 3},
        "ood_slurm_pending": {"worker": 5},
        "ood_role_wanted_workers": {"worker": 2},
        "ood_worker_active_sessions": {third: 2, fourth: 0},
        "ood_worker_idle_seconds": {third: 0},
        "ood_worker_oldest_idle": {third: 1},
        "ood_worker_healthy": {third: 1},
        "ood_worker_report_timestamp_seconds": {third: 1_800_000_000},
        "ood_pool_frozen": {"warning": 0, "scaling": 1},
    }


def test_labels_of_a_worker():
    assert 'ood_worker_healthy{address="10.77.0.3",name="worker_3",vm_id="3"} 1\n' in render(FULL)


def test_what_is_not_known_is_not_said():
    assert values(render(PoolMetrics(scrape_ok=False, user_nginx=0))) == {
        "ood_exporter_scrape_ok": {"": 0},
        "ood_portal_puns": {"": 0},
    }


def test_decisions_and_accounting():
    assert values(render_decisions(["delete", "placeholder", "delete"], 1_800_000_000)) == {
        "ood_pool_last_decision_timestamp_seconds": {"delete": 1_800_000_000, "placeholder": 1_800_000_000}
    }
    assert values(render_accounting(0)) == {"ood_slurmdbd_backlog_messages": {"": 0}}
    assert render_accounting(None) == ""


@pytest.fixture(scope="module")
def dashboard():
    return json.loads(DASHBOARD.read_text())


def test_the_dashboard_shows_every_metric_and_no_other(dashboard):
    queries = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    texts = render(FULL), render_decisions(["delete"], 1), render_accounting(1)
    assert set(re.findall(r"\bood_\w+", queries)) == {name for text in texts for name in values(text)}


def test_the_dashboard_is_one_that_grafana_takes(dashboard):
    assert isinstance(dashboard["schemaVersion"], int)
    panels = dashboard["panels"]
    assert sorted(panel["id"] for panel in panels) == list(range(1, len(panels) + 1))
    source, portal = dashboard["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == ("datasource", "datasource", "prometheus")
    assert portal["name"] == "instance"
    for part in [portal, *panels, *(target for panel in panels for target in panel["targets"])]:
        assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels:
        assert panel["title"]
        assert all('instance=~"$instance"' in target["expr"] for target in panel["targets"])
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_no_two_panels_lie_on_each_other(dashboard):
    cells = [
        (x, y)
        for grid in (panel["gridPos"] for panel in dashboard["panels"])
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _y in cells) < 24
