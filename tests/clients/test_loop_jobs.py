"""Jobs that a controller acts on, with pods that end by themselves on hollow nodes, well or badly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.converging import eventually, is_live, items, moments, names, now_at, uids
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest

ARGUMENTS = ("--hollow-nodes", "2")
SHARED = True  # the server, with other modules
EXIT_CODE = "hollow.fairlead.dev/exit-code"
FAILS = {"hollow.fairlead.dev/fails": "true"}
LONG = {"hollow.fairlead.dev/runs-for": "10m"}
SHORT = {"hollow.fairlead.dev/runs-for": "10ms"}


def _job(annotations: dict[str, str], **spec: Any) -> Manifest:
    run = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}
    template = {"metadata": {"annotations": annotations}, "spec": run}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"template": template, **spec},
    }


def _ended(team: Operator, condition: str, name: str = "work") -> dict[str, Any]:
    """The job's status once it has this condition, and the condition under `is`."""
    team(f"wait job {name} --for=condition={condition} --timeout=90s")
    status: dict[str, Any] = team.yaml(f"get job {name}")["status"]
    by_type = {each["type"].lower(): each for each in status["conditions"] if each["status"] == "True"}
    return {**status, "is": by_type[condition]}


def test_a_job_completes(team: Operator) -> None:
    assert team("create job once --image=busybox -- date") == "job.batch/once created\n"
    status = _ended(team, "complete", "once")
    assert (status["succeeded"], status["is"]["reason"]) == (1, "CompletionsReached")
    assert status["startTime"] <= status["completionTime"]
    (row,) = table(team("get jobs"))
    assert (row["STATUS"], row["COMPLETIONS"]) == ("Complete", "1/1")
    (pod,) = table(team("get pods"))
    assert (pod["READY"], pod["STATUS"]) == ("0/1", "Completed")
    assert names(team, "pods -l job-name=once") == {pod["NAME"]}
    assert "Pods Statuses:" in team("describe job once")
    team("delete job once")
    assert eventually(lambda: items(team, "pods") == [])


def test_completions_are_reached_a_few_at_a_time(team: Operator) -> None:
    since = now_at(team)
    team("create -f -", _job(SHORT, completions=5, parallelism=2))
    assert _ended(team, "complete")["succeeded"] == 5
    assert len(items(team, "pods")) == 5
    assert max(sum(map(is_live, pods)) for pods in moments(team, since)) == 2


def test_an_indexed_job_gives_each_pod_its_number(team: Operator) -> None:
    team("create -f -", _job(SHORT, completions=3, parallelism=3, completionMode="Indexed"))
    assert _ended(team, "complete")["completedIndexes"] == "0-2"
    found = items(team, "pods")
    index = "batch.kubernetes.io/job-completion-index"
    assert sorted(pod["metadata"]["annotations"][index] for pod in found) == ["0", "1", "2"]
    assert sorted(pod["spec"]["hostname"] for pod in found) == ["work-0", "work-1", "work-2"]
    (environment,) = (each for each in found[0]["spec"]["containers"][0]["env"])
    assert environment["name"] == "JOB_COMPLETION_INDEX"


def test_a_job_that_fails_too_often_fails(team: Operator) -> None:
    team("create -f -", _job({**SHORT, **FAILS}, backoffLimit=0))
    status = _ended(team, "failed")
    assert (status["failed"], status["is"]["reason"]) == (1, "BackoffLimitExceeded")
    assert status["is"]["message"] == "Job has reached the specified backoff limit"
    (row,) = table(team("get jobs"))
    assert (row["STATUS"], row["COMPLETIONS"]) == ("Failed", "0/1")
    assert [pod["STATUS"] for pod in table(team("get pods"))] == ["Error"]


def test_a_job_that_takes_too_long_fails(team: Operator) -> None:
    team("create -f -", _job(LONG, activeDeadlineSeconds=1))
    assert _ended(team, "failed")["is"]["reason"] == "DeadlineExceeded"
    assert eventually(lambda: not any(map(is_live, items(team, "pods"))))


def test_a_suspended_job_starts_when_it_is_resumed_and_stops_when_suspended_again(team: Operator) -> None:
    team("create -f -", _job(LONG, suspend=True, parallelism=2, completions=2))
    team("wait job work --for=condition=suspended --timeout=90s")
    assert table(team("get jobs"))[0]["STATUS"] == "Suspended"
    assert items(team, "pods") == []
    team('patch job work -p \'{"spec":{"suspend":false}}\'')
    team("wait job work --for=jsonpath={.status.active}=2 --timeout=90s")
    eventually(lambda: [pod["status"]["phase"] for pod in items(team, "pods")] == ["Running"] * 2)
    team('patch job work -p \'{"spec":{"suspend":true}}\'')
    assert eventually(lambda: items(team, "pods") == [])
    assert "startTime" not in team.yaml("get job work")["status"]


def test_a_job_that_is_deleted_while_it_runs_takes_its_pods_along(team: Operator) -> None:
    team("create -f -", _job(LONG, parallelism=2))
    eventually(lambda: [pod["status"]["phase"] for pod in items(team, "pods")] == ["Running"] * 2)
    team("delete job work")
    assert eventually(lambda: items(team, "pods") == [])


def test_a_finished_job_goes_after_its_time(team: Operator) -> None:
    since = now_at(team)
    team("create -f -", _job(SHORT, ttlSecondsAfterFinished=1))
    eventually(lambda: items(team, "jobs,pods") == [])
    phases = {pod["status"].get("phase") for pods in moments(team, since) for pod in pods}
    assert "Succeeded" in phases, "it ran before it went"


def test_a_job_made_by_hand_from_a_cron_job_runs(team: Operator) -> None:
    team("create cronjob nightly --image=busybox --schedule='0 3 1 1 *' -- date")
    assert team("create job now --from=cronjob/nightly") == "job.batch/now created\n"
    _ended(team, "complete", "now")
    team("delete cronjob nightly")
    assert eventually(lambda: items(team, "jobs,pods") == [])


def test_a_failure_policy_fails_the_job_at_once(team: Operator) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    team("create -f -", _job({**SHORT, EXIT_CODE: "42"}, podFailurePolicy={"rules": [rule]}))
    status = _ended(team, "failed")
    (pod,) = names(team, "pods")
    message = f"Container main for pod {team.namespace}/{pod} failed with exit code 42 matching FailJob rule at index 0"
    assert (status["is"]["reason"], status["is"]["message"]) == ("PodFailurePolicy", message)
    assert [each["type"] for each in status["conditions"]] == ["FailureTarget", "Failed"]


def test_an_eviction_that_is_ignored_counts_as_no_failure(team: Operator) -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    team("create -f -", _job(LONG, backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    eventually(lambda: [pod["status"]["phase"] for pod in items(team, "pods")] == ["Running"])
    (first,), (before,) = names(team, "pods"), uids(team, "pods")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": first}}
    team(f"create --raw /api/v1/namespaces/{team.namespace}/pods/{first}/eviction -f -", eviction)
    eventually(lambda: any(map(is_live, items(team, "pods"))) and before not in uids(team, "pods"))
    status = team.yaml("get job work")["status"]
    assert ("failed" in status, "conditions" in status) == (False, False)


def test_each_index_has_its_own_limit(team: Operator) -> None:
    limits = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    team("create -f -", _job({**SHORT, **FAILS}, **limits))
    status = _ended(team, "failed")
    assert (status["failedIndexes"], status["failed"], status["is"]["reason"]) == ("0-2", 3, "FailedIndexes")


def test_a_success_policy_ends_the_job_early(team: Operator) -> None:
    policy = {"rules": [{"succeededCount": 1}]}
    limits = {"completions": 3, "parallelism": 1, "completionMode": "Indexed", "successPolicy": policy}
    team("create -f -", _job(SHORT, **limits))
    status = _ended(team, "complete")
    assert (status["completedIndexes"], status["is"]["reason"]) == ("0", "SuccessPolicy")
    assert [each["type"] for each in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]


@pytest.mark.soak
def test_a_cron_job_makes_a_job_each_minute_until_it_is_suspended(team: Operator) -> None:
    team("create cronjob tick --image=busybox --schedule='* * * * *' -- date")
    (first,) = eventually(lambda: names(team, "jobs"), 70)
    assert first.startswith("tick-")
    _ended(team, "complete", first)
    (row,) = table(team("get cronjobs"))
    assert (row["SUSPEND"], row["LAST SCHEDULE"]) == ("False", "AGE")
    eventually(lambda: len(names(team, "jobs")) == 2, 70)
    team('patch cronjob tick -p \'{"spec":{"suspend":true}}\'')
    assert table(team("get cronjobs"))[0]["SUSPEND"] == "True"
