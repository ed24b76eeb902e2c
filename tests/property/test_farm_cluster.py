"""The farm on a cluster of worker processes gives the table it gives here, though a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

CAMPAIGN = """
import os, time
from support.farm.campaign import Campaign, Wrong
def check(case):
    if case == 40: os.abort()
    if case == 70: raise Wrong("seventy")
    time.sleep(0.01)
    return {str(case % 7)}
HERE = (Campaign("steady", "a steady one", lambda seed: seed, check, seconds=20.0),)
"""
GO = """
import json, os, signal, sys, threading, time
from support.farm.campaign import CAMPAIGNS
CAMPAIGNS["steady"] = "steady"
from pool import run

def table(done):
    return [done.cases, sorted(done.covered), sorted(f.seed for f in done.findings.values())]

if __name__ == "__main__":
    here = run("steady", 0, 400, 200.0, 1, None, lambda found: None)
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        def kill():
            with Client(cluster) as client:
                client.wait_for_workers(2)
                pid = next(iter(client.run(os.getpid).values()))
            time.sleep(1)
            os.kill(pid, signal.SIGKILL)
        thread = threading.Thread(target=kill)
        thread.start()
        there = run("steady", 0, 400, 200.0, 1, cluster.scheduler_address, lambda found: None)
        thread.join()
    print("TABLES", json.dumps([table(here), table(there)]))
"""


@pytest.mark.slow
@pytest.mark.cluster
def test_the_table_is_the_same_on_a_cluster_though_a_worker_is_killed(tmp_path: Path) -> None:
    import json

    pytest.importorskip("distributed", reason="needs distributed: pip install 'isakit[distributed]'")
    folder = tmp_path / "support" / "farm"
    folder.mkdir(parents=True)
    here = (ROOT / "tests/support/farm/campaign.py").read_text()
    (folder / "campaign.py").write_text(
        here.replace("CAMPAIGNS: dict[str, str] = {", 'CAMPAIGNS: dict[str, str] = {"steady": "steady",')
    )
    (folder / "__init__.py").write_text((ROOT / "tests/support/farm/__init__.py").read_text())
    (tmp_path / "support" / "__init__.py").write_text("")
    (folder / "steady.py").write_text(CAMPAIGN)
    (tmp_path / "go.py").write_text(GO)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "tools/farm"), str(ROOT / "src")])
    with subprocess.Popen([sys.executable, str(tmp_path / "go.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "PYTHONPATH": path}, start_new_session=True) as p:  # fmt: skip
        try:
            out, err = p.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            raise
    lines = [line for line in out.splitlines() if line.startswith("TABLES ")]
    assert lines, err[-3000:]
    local, cluster = json.loads(lines[0].removeprefix("TABLES "))
    assert local == [400, list("0123456"), [40, 70]]
    assert cluster == local
