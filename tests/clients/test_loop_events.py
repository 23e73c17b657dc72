"""What controllers and the scheduler tell people: `kubectl describe`, `kubectl events` and `kubectl get events`."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.clients.converging import eventually, items, names, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest, pod, workload

ARGUMENTS = ("--hollow-nodes", "2")
SHARED = True  # the server, with other modules

# An Event below an object, as describe prints it: type, reason, age (with count), from, message.
LINE = re.compile(
    r"^ {2}(Normal|Warning) +(\w+) +(\d+[smh]\S*(?: \(x\d+ over \w+\))?) +(\S+) +(.*)$", re.MULTILINE
)


def described(team: Operator, what: str) -> list[tuple[str, str, str, str]]:
    """(type, reason, from, message) of each line below `Events:`."""
    _, _, events = team(f"describe {what}").partition("\nEvents:")
    return [(kind, why, who, text) for kind, why, _, who, text in LINE.findall(events)]


def told(team: Operator, what: str, reason: str) -> tuple[str, str, str, str]:
    """The one line with this reason; Events come a moment after what they tell."""

    def found() -> list[tuple[str, str, str, str]]:
        return [line for line in described(team, what) if line[1] == reason]

    line: tuple[str, str, str, str]
    (line,) = eventually(found)
    return line


def test_a_deployment_tells_its_story_at_every_level(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=1))
    rolled_out(team, "deploy/web")
    (replicaset,), (pod,) = names(team, "rs"), items(team, "pods")
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    scaled = f"Scaled up replica set {replicaset} from 0 to 1"
    assert told(team, "deploy web", "ScalingReplicaSet") == (
        "Normal", "ScalingReplicaSet", "deployment-controller", scaled,
    )  # fmt: skip
    assert told(team, f"rs {replicaset}", "SuccessfulCreate") == (
        "Normal", "SuccessfulCreate", "replicaset-controller", f"Created pod: {name}",
    )  # fmt: skip
    assigned = f"Successfully assigned {team.namespace}/{name} to {node}"
    assert told(team, f"pod {name}", "Scheduled") == ("Normal", "Scheduled", "default-scheduler", assigned)

    (row,) = table(team("events --for deployment/web"))
    assert row == {
        "LAST SEEN": "AGE",
        "TYPE": "Normal",
        "REASON": "ScalingReplicaSet",
        "OBJECT": "Deployment/web",
        "MESSAGE": scaled,
    }
    rows = table(team("get events --sort-by=.lastTimestamp"))
    assert {(row["REASON"], row["OBJECT"], row["LAST SEEN"]) for row in rows} >= {
        ("ScalingReplicaSet", "deployment/web", "AGE"),
        ("SuccessfulCreate", f"replicaset/{replicaset}", "AGE"),
        ("Scheduled", f"pod/{name}", "AGE"),
    }


def test_a_scale_down_is_told_and_a_settled_deployment_tells_no_more(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    team("scale deploy web --replicas=1")
    (replicaset,) = names(team, "rs")
    assert told(team, f"rs {replicaset}", "SuccessfulDelete")[3].startswith(f"Deleted pod: {replicaset}-")
    eventually(lambda: len(items(team, "pods")) == 1)

    def scalings() -> list[str]:
        """In no order: kubectl knows seconds only."""
        return sorted(line[3] for line in described(team, "deploy web") if line[1] == "ScalingReplicaSet")

    told_of = [
        f"Scaled down replica set {replicaset} from 2 to 1",
        f"Scaled up replica set {replicaset} from 0 to 2",
    ]
    eventually(lambda: scalings() == told_of)


def test_a_pod_that_fits_nowhere_says_why(team: Operator) -> None:
    big = pod("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9999"}}
    team("create -f -", big)
    kind, _, who, message = told(team, "pod big", "FailedScheduling")
    assert (kind, who) == ("Warning", "default-scheduler")
    (condition,) = team.yaml("get pod big")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "PodScheduled", "False", "Unschedulable", message,
    )  # fmt: skip
    assert table(team("get pods"))[0]["STATUS"] == "Pending"
    assert "PodScheduled   False" in team("describe pod big")


def test_a_pod_that_is_refused_is_told_by_its_owner_and_counted(team: Operator) -> None:
    limit: Manifest = {"type": "Container", "max": {"cpu": "1"}}
    team("create -f -", {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": {"limits": [limit]},
    })  # fmt: skip
    greedy: dict[str, Any] = workload("ReplicaSet", "web", replicas=1)
    greedy["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "2"},
        "limits": {"cpu": "2"},
    }
    team("create -f -", greedy)
    lines = eventually(lambda: [line for line in described(team, "rs web") if line[1] == "FailedCreate"])
    assert lines[0][0] == "Warning"
    assert lines[0][3].startswith("Error creating: pods ")
    assert "maximum cpu usage per Container is 1" in lines[0][3]


def test_jobs_and_cronjobs(team: Operator) -> None:
    team("create job once --image=busybox -- date")
    assert told(team, "job once", "Completed") == ("Normal", "Completed", "job-controller", "Job completed")
    assert told(team, "job once", "SuccessfulCreate")[3].startswith("Created pod: once-")
    team("create cronjob tick --image=busybox --schedule=@yearly")
    team("create job made --from=cronjob/tick")
    eventually(lambda: "Completed" in [line[1] for line in described(team, "job made")])


def test_an_event_is_an_event_for_every_client(team: Operator) -> None:
    team("create -f -", workload("StatefulSet", "db", replicas=1, serviceName="db"))
    rolled_out(team, "sts/db")
    selector = "involvedObject.kind=StatefulSet,reason=SuccessfulCreate"
    (event,) = eventually(
        lambda: json.loads(team.asked(f"get events --field-selector={selector} -o json"))["items"]
    )
    assert event["message"] == "create Pod db-0 in StatefulSet db successful"
    assert (event["source"], event["reportingComponent"]) == (
        {"component": "statefulset-controller"}, "statefulset-controller",
    )  # fmt: skip
    assert event["involvedObject"]["uid"] == team.asked("get sts db -o jsonpath={.metadata.uid}")
    assert event["firstTimestamp"] == event["lastTimestamp"]
    assert event["count"] == 1
    team("delete pod db-0 --now")
    rolled_out(team, "sts/db")

    def again() -> bool:
        (found,) = json.loads(team.asked(f"get events --field-selector={selector} -o json"))["items"]
        return bool(found["count"] == 2 and found["lastTimestamp"] >= found["firstTimestamp"])

    assert eventually(again), "the same told twice is one Event, counted"
