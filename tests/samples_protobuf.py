"""Bodies in protobuf as kubectl 1.32 sends them, each with the object that it stands for.

The objects are what the same command prints with `--dry-run=client -o json`, without nulls; `auth` and `drain`
have no dry run, so theirs are written out. Used by `unit/api/test_protobuf_clients.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Sent(NamedTuple):
    command: str  # what was typed after kubectl
    body: bytes
    meant: dict[str, Any]


SENT = (
    Sent(
        "create namespace x",
        bytes.fromhex(
            "6b3873000a0f0a02763112094e616d65737061636512190a110a017812001a0022002a0032003800420012001a02"
            "0a001a002200"
        ),
        {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {}, "status": {}},
    ),
    Sent(
        "create configmap c --from-literal=a=1 --from-literal=b=",
        bytes.fromhex(
            "6b3873000a0f0a0276311209436f6e6669674d617012230a120a016312001a016422002a0032003800420012060a"
            "016112013112050a016212001a002200"
        ),
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "c", "namespace": "d"},
            "data": {"a": "1", "b": ""},
        },
    ),
    Sent(
        "create secret generic s --from-literal=a=1",
        bytes.fromhex(
            "6b3873000a0c0a0276311206536563726574121e0a120a017312001a016422002a0032003800420012060a016112"
            "01311a001a002200"
        ),
        {
            "kind": "Secret",
            "apiVersion": "v1",
            "metadata": {"name": "s", "namespace": "d"},
            "data": {"a": "MQ=="},
        },
    ),
    Sent(
        "create serviceaccount sa",
        bytes.fromhex(
            "6b3873000a140a027631120e536572766963654163636f756e7412150a130a02736112001a016422002a00320038"
            "0042001a002200"
        ),
        {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "sa", "namespace": "d"}},
    ),
    Sent(
        "create deployment web --image=nginx --replicas=0 --port=80",
        bytes.fromhex(
            "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412b9010a200a0377656212001a016422002a00"
            "3200380042005a0a0a0361707012037765621286010800120c0a0a0a0361707012037765621a6c0a1c0a0012001a"
            "0022002a003200380042005a0a0a036170701203776562124c122e0a056e67696e7812056e67696e782a00320a0a"
            "001000185022002a0042006a007200800100880100900100a201001a00320042004a005200580060006800820100"
            "8a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200"
        ),
        {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"name": "web", "namespace": "d", "labels": {"app": "web"}},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {
                        "containers": [
                            {
                                "name": "nginx",
                                "image": "nginx",
                                "ports": [{"containerPort": 80}],
                                "resources": {},
                            }
                        ]
                    },
                },
                "strategy": {},
            },
            "status": {},
        },
    ),
    Sent(
        "create job j --image=busybox -- sh -c true",
        bytes.fromhex(
            "6b3873000a0f0a0862617463682f763112034a6f621287010a120a016a12001a016422002a003200380042001267"
            "32650a100a0012001a0022002a003200380042001251122e0a016a120762757379626f781a0273681a022d631a04"
            "747275652a0042006a007200800100880100900100a201001a054e65766572320042004a00520058006000680082"
            "01008a01009a0100c201001a082000280030003a001a002200"
        ),
        {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {"name": "j", "namespace": "d"},
            "spec": {
                "template": {
                    "metadata": {},
                    "spec": {
                        "containers": [
                            {
                                "name": "j",
                                "image": "busybox",
                                "command": ["sh", "-c", "true"],
                                "resources": {},
                            }
                        ],
                        "restartPolicy": "Never",
                    },
                }
            },
            "status": {},
        },
    ),
    Sent(
        "create cronjob cj --image=busybox --schedule=@daily -- date",
        bytes.fromhex(
            "6b3873000a130a0862617463682f7631120743726f6e4a6f6212a0010a130a02636a12001a016422002a00320038"
            "0042001286010a06406461696c791a002a7a0a120a02636a12001a0022002a00320038004200126432620a100a00"
            "12001a0022002a00320038004200124e12270a02636a120762757379626f781a04646174652a0042006a00720080"
            "0100880100900100a201001a094f6e4661696c757265320042004a0052005800600068008201008a01009a0100c2"
            "01001a001a002200"
        ),
        {
            "kind": "CronJob",
            "apiVersion": "batch/v1",
            "metadata": {"name": "cj", "namespace": "d"},
            "spec": {
                "schedule": "@daily",
                "jobTemplate": {
                    "metadata": {"name": "cj"},
                    "spec": {
                        "template": {
                            "metadata": {},
                            "spec": {
                                "containers": [
                                    {"name": "cj", "image": "busybox", "command": ["date"], "resources": {}}
                                ],
                                "restartPolicy": "OnFailure",
                            },
                        }
                    },
                },
            },
            "status": {},
        },
    ),
    Sent(
        "create job full --from=cronjob/c",
        bytes.fromhex(
            "6b3873000a0f0a0862617463682f763112034a6f6212a5070a670a0466756c6c12001a016422002a003200380042"
            "005a060a0161120162622b0a2163726f6e6a6f622e6b756265726e657465732e696f2f696e7374616e7469617465"
            "12066d616e75616c6a1b0a0743726f6e4a6f621a01632201752a0862617463682f7631300112af06080010023280"
            "060a230a0012001a0022002a003200380042005a050a01781200620a0a046e6f74651202c3bc12d8050a090a0165"
            "120412020a000a160a01661211120f0a064d656d6f727912050a033147690a0d0a016812080a060a022f6812000a"
            "120a0163120d9a010a0a040a02636d180020000a280a01701223d201200a0a22080a0010d8041a01740a120a100a"
            "030a017312090a016b1201701880020a450a01761240ea013d0a3b0a100a0012001a0022002a0032003800420012"
            "270a0d5265616457726974654f6e6365121212100a0773746f7261676512050a033547691a002a0012b9020a016d"
            "12036d3a311a0273681a022d631a002a0032120a0468747470100018903f22035443502a003a060a01411201313a"
            "130a014212001a0c220a0a030a017312016b18003a1c0a014312001a1512130a00120a6c696d6974732e6370751a"
            "030a013042480a0d0a0363707512060a043530306d0a160a0f6578616d706c652e636f6d2f67707512030a013112"
            "0d0a0363707512060a043130306d12100a066d656d6f727912060a0436344d694a0d0a016510011a022f65220032"
            "0052270a1912170a012f120a080110001a04687474701a002204485454501000180020052800300038015a190a0d"
            "1a0b0a07080010903f1a00120010001800200028003000620d0a050a030a01611204220208006a0072007a090a05"
            "1203414c4c10008001008801009001009a010c0a02505f12060a040a02636da201001a054e65766572200032003a"
            "0b0a046469736b120373736442004a005200580060006800720910001800200020b8178201008a01009201180a16"
            "0a140a120a100a047a6f6e651202496e1a01611a01629a0100a2013a0a01691201692a0042006a00720080010088"
            "0100900100a20100b201140a080a060a04747275651000180020002800301ec20106416c77617973a80100b20119"
            "0a0012064578697374731a0022094e6f457865637574652800c20100c801f9ffffffffffffffff01f001008a0221"
            "080112047a6f6e651a0d446f4e6f745363686564756c6522080a060a0178120179380040004a07496e6465786564"
            "50005a170a150a0649676e6f7265120b0a016d1202496e1801182a1a082000280030003a001a002200"
        ),
        {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {
                "name": "full",
                "namespace": "d",
                "labels": {"a": "b"},
                "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
                "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u", "controller": True}
                ],
            },
            "spec": {
                "parallelism": 0,
                "completions": 2,
                "podFailurePolicy": {
                    "rules": [
                        {
                            "action": "Ignore",
                            "onExitCodes": {"containerName": "m", "operator": "In", "values": [1, 42]},
                        }
                    ]
                },
                "backoffLimit": 0,
                "template": {
                    "metadata": {"labels": {"x": ""}, "annotations": {"note": "ü"}},
                    "spec": {
                        "volumes": [
                            {"name": "e", "emptyDir": {}},
                            {"name": "f", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
                            {"name": "h", "hostPath": {"path": "/h", "type": ""}},
                            {"name": "c", "configMap": {"name": "cm", "defaultMode": 0, "optional": False}},
                            {
                                "name": "p",
                                "projected": {
                                    "sources": [
                                        {"serviceAccountToken": {"expirationSeconds": 600, "path": "t"}},
                                        {
                                            "secret": {
                                                "name": "s",
                                                "items": [{"key": "k", "path": "p", "mode": 256}],
                                            }
                                        },
                                    ]
                                },
                            },
                            {
                                "name": "v",
                                "ephemeral": {
                                    "volumeClaimTemplate": {
                                        "metadata": {},
                                        "spec": {
                                            "accessModes": ["ReadWriteOnce"],
                                            "resources": {"requests": {"storage": "5Gi"}},
                                            "storageClassName": "",
                                        },
                                    }
                                },
                            },
                        ],
                        "initContainers": [
                            {
                                "name": "i",
                                "image": "i",
                                "resources": {},
                                "restartPolicy": "Always",
                                "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 30},
                            }
                        ],
                        "containers": [
                            {
                                "name": "m",
                                "image": "m:1",
                                "command": ["sh", "-c", ""],
                                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                                "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}}],
                                "env": [
                                    {"name": "A", "value": "1"},
                                    {
                                        "name": "B",
                                        "valueFrom": {
                                            "secretKeyRef": {"name": "s", "key": "k", "optional": False}
                                        },
                                    },
                                    {
                                        "name": "C",
                                        "valueFrom": {
                                            "resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}
                                        },
                                    },
                                ],
                                "resources": {
                                    "limits": {"cpu": "500m", "example.com/gpu": "1"},
                                    "requests": {"cpu": "100m", "memory": "64Mi"},
                                },
                                "volumeMounts": [{"name": "e", "readOnly": True, "mountPath": "/e"}],
                                "livenessProbe": {
                                    "httpGet": {"path": "/", "port": "http", "scheme": "HTTP"},
                                    "periodSeconds": 5,
                                    "terminationGracePeriodSeconds": 1,
                                },
                                "readinessProbe": {"tcpSocket": {"port": 8080}},
                                "lifecycle": {
                                    "postStart": {"exec": {"command": ["a"]}},
                                    "preStop": {"sleep": {"seconds": 0}},
                                },
                                "securityContext": {"capabilities": {"drop": ["ALL"]}, "privileged": False},
                            }
                        ],
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 0,
                        "nodeSelector": {"disk": "ssd"},
                        "automountServiceAccountToken": False,
                        "securityContext": {
                            "runAsUser": 0,
                            "runAsNonRoot": False,
                            "supplementalGroups": [0, 3000],
                        },
                        "affinity": {
                            "nodeAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {
                                            "matchExpressions": [
                                                {"key": "zone", "operator": "In", "values": ["a", "b"]}
                                            ]
                                        }
                                    ]
                                }
                            }
                        },
                        "tolerations": [
                            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
                        ],
                        "priority": -7,
                        "enableServiceLinks": False,
                        "topologySpreadConstraints": [
                            {
                                "maxSkew": 1,
                                "topologyKey": "zone",
                                "whenUnsatisfiable": "DoNotSchedule",
                                "labelSelector": {"matchLabels": {"x": "y"}},
                            }
                        ],
                    },
                },
                "ttlSecondsAfterFinished": 0,
                "completionMode": "Indexed",
                "suspend": False,
            },
            "status": {},
        },
    ),
    Sent(
        "create quota q --hard=cpu=1,memory=1Gi,pods=2 --scopes=NotTerminating",
        bytes.fromhex(
            "6b3873000a130a027631120d5265736f7572636551756f746112520a120a017112001a016422002a003200380042"
            "00123a0a0a0a0363707512030a01310a0f0a066d656d6f727912050a033147690a0b0a04706f647312030a013212"
            "0e4e6f745465726d696e6174696e671a001a002200"
        ),
        {
            "kind": "ResourceQuota",
            "apiVersion": "v1",
            "metadata": {"name": "q", "namespace": "d"},
            "spec": {"hard": {"cpu": "1", "memory": "1Gi", "pods": "2"}, "scopes": ["NotTerminating"]},
            "status": {},
        },
    ),
    Sent(
        "create priorityclass pc --value=1000 --preemption-policy=Never --description=hi",
        bytes.fromhex(
            "6b3873000a250a147363686564756c696e672e6b38732e696f2f7631120d5072696f72697479436c61737312240a"
            "120a02706312001a0022002a0032003800420010e8071800220268692a054e657665721a002200"
        ),
        {
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": "pc"},
            "value": 1000,
            "description": "hi",
            "preemptionPolicy": "Never",
        },
    ),
    Sent(
        "create service clusterip s --tcp=80:8080",
        bytes.fromhex(
            "6b3873000a0d0a02763112075365727669636512640a1c0a017312001a016422002a003200380042005a080a0361"
            "707012017312400a1b0a0738302d38303830120354435018502207080010903f1a00280012080a03617070120173"
            "1a002209436c757374657249503a00420052005a00600068001a020a001a002200"
        ),
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "s", "namespace": "d", "labels": {"app": "s"}},
            "spec": {
                "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}],
                "selector": {"app": "s"},
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    Sent(
        "create service nodeport np --tcp=80:http --node-port=30100",
        bytes.fromhex(
            "6b3873000a0d0a027631120753657276696365126b0a1e0a026e7012001a016422002a003200380042005a090a03"
            "61707012026e7012450a200a0738302d6874747012035443501850220a080110001a04687474702894eb0112090a"
            "0361707012026e701a0022084e6f6465506f72743a00420052005a00600068001a020a001a002200"
        ),
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "np", "namespace": "d", "labels": {"app": "np"}},
            "spec": {
                "ports": [
                    {
                        "name": "80-http",
                        "protocol": "TCP",
                        "port": 80,
                        "targetPort": "http",
                        "nodePort": 30100,
                    }
                ],
                "selector": {"app": "np"},
                "type": "NodePort",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    Sent(
        "create poddisruptionbudget p --selector=app=a --min-available=50%",
        bytes.fromhex(
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412390a120a017012"
            "001a016422002a0032003800420012170a09080110001a03353025120a0a080a036170701201611a0a0800180020"
            "00280030001a002200"
        ),
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": "p", "namespace": "d"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "a"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        },
    ),
    Sent(
        "create poddisruptionbudget q --selector=app=a --max-unavailable=0",
        bytes.fromhex(
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412360a120a017112"
            "001a016422002a003200380042001214120a0a080a036170701201611a06080010001a001a0a0800180020002800"
            "30001a002200"
        ),
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": "q", "namespace": "d"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 0},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        },
    ),
    Sent(
        "auth can-i create pods",
        bytes.fromhex(
            "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a6563744163"
            "6365737352657669657712390a100a0012001a0022002a00320038004200121b0a190a016412066372656174651a"
            "0022002a04706f647332003a001a08080012001a0020001a002200"
        ),
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"resourceAttributes": {"namespace": "d", "verb": "create", "resource": "pods"}},
            "status": {"allowed": False},
        },
    ),
    Sent(
        "auth can-i get /healthz",
        bytes.fromhex(
            "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a6563744163"
            "63657373526576696577122f0a100a0012001a0022002a003200380042001211120f0a082f6865616c74687a1203"
            "6765741a08080012001a0020001a002200"
        ),
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}},
            "status": {"allowed": False},
        },
    ),
    Sent(
        "auth whoami",
        bytes.fromhex(
            "6b3873000a2d0a1861757468656e7469636174696f6e2e6b38732e696f2f7631121153656c665375626a65637452"
            "6576696577121a0a100a0012001a0022002a0032003800420012060a040a0012001a002200"
        ),
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "SelfSubjectReview",
            "metadata": {},
            "status": {"userInfo": {}},
        },
    ),
    Sent(
        "auth can-i --list",
        bytes.fromhex(
            "6b3873000a310a17617574686f72697a6174696f6e2e6b38732e696f2f7631121653656c665375626a6563745275"
            "6c6573526576696577121d0a100a0012001a0022002a0032003800420012030a01641a04180022001a002200"
        ),
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "metadata": {},
            "spec": {"namespace": "d"},
            "status": {"incomplete": False},
        },
    ),
    Sent(
        "drain n1 --force --disable-eviction --grace-period=0 --timeout=2s",
        bytes.fromhex("6b3873000a130a027631120d44656c6574654f7074696f6e73120208001a002200"),
        {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0},
    ),
)
