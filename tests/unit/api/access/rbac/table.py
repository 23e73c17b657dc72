"""Who may what, as Kubernetes documents it: roles, bindings, and for each request which verbs are allowed.

Read by `test_table.py`. A row of REQUESTS stands for one case of each verb in VERBS: those in its last column are
allowed, the others are not.
"""

from __future__ import annotations

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")

# name (NAMESPACE/NAME of a Role), rules
ROLES = """
everything          | * * @* ; * ~*
read-pods           | get,list,watch pods
read-logs           | get pods/log
scale-anything      | get,update,patch */scale @*
scale-apps          | update */scale @apps
read-core           | get,list *
read-any-group      | get deployments @*
read-two-groups     | get deployments @apps,extensions
named               | get,list,watch,update,delete,create,deletecollection configmaps =one,two
named-twice         | get secrets =one ; list secrets
no-name             | create,get configmaps =,
read-nodes          | get,list nodes
read-namespaces     | get,list,delete namespaces
all-verbs           | * secrets
pods-star           | get,list pods/*
star-of-pods        | get,list */*
any-verb-named      | * configmaps =one
mixed-case          | Get Pods
paths               | get ~/metrics,/healthz/*,/fairlead/v1*
paths-all           | get ~*
paths-stars         | get ~/logs**
paths-post          | post,put ~/fairlead/v1/plan
paths-inner-star    | get ~/a*/b
nothing             |
pods-and-paths      | get pods ; get ~/metrics
a/read-pods         | get pods
a/write-pods        | create,update,patch,delete,deletecollection pods
a/shadow            | delete pods
a/paths             | get ~/metrics
b/read-pods         | list pods
shadow              | get pods
"""

# name (NAMESPACE/NAME of a RoleBinding), role, subjects
BINDINGS = """
root                | ClusterRole/everything       | User/root
readers             | ClusterRole/read-pods        | User/reader Group/readers
loggers             | ClusterRole/read-logs        | User/logger
scalers             | ClusterRole/scale-anything   | User/scaler
app-scalers         | ClusterRole/scale-apps       | User/app-scaler
core                | ClusterRole/read-core        | User/core
any-group           | ClusterRole/read-any-group   | User/any-group
two-groups          | ClusterRole/read-two-groups  | User/two-groups
named               | ClusterRole/named            | User/named
named-twice         | ClusterRole/named-twice      | User/named-twice
no-name             | ClusterRole/no-name          | User/no-name
all-verbs           | ClusterRole/all-verbs        | User/all-verbs
pods-star           | ClusterRole/pods-star        | User/pods-star
star-of-pods        | ClusterRole/star-of-pods     | User/star-of-pods
any-verb-named      | ClusterRole/any-verb-named   | User/any-verb-named
mixed-case          | ClusterRole/mixed-case       | User/mixed-case
paths               | ClusterRole/paths            | User/paths
paths-all           | ClusterRole/paths-all        | User/paths-all
paths-stars         | ClusterRole/paths-stars      | User/paths-stars
paths-post          | ClusterRole/paths-post       | User/paths-post
paths-inner-star    | ClusterRole/paths-inner-star | User/paths-inner-star
both                | ClusterRole/pods-and-paths   | User/both
nothing             | ClusterRole/nothing          | User/nothing
gone                | ClusterRole/gone             | User/gone
nobody              | ClusterRole/everything       |
wrong-kind          | Role/read-pods               | User/wrong-kind
everyone            | ClusterRole/read-nodes       | Group/everyone
robots              | ClusterRole/read-nodes       | ServiceAccount/team/robot
robots-nowhere      | ClusterRole/everything       | ServiceAccount/lost
all-robots          | ClusterRole/read-logs        | Group/system:serviceaccounts
team-robots         | ClusterRole/scale-apps       | Group/system:serviceaccounts:team
by-user-name        | ClusterRole/read-nodes       | User/system:serviceaccount:team:other
a/reader            | Role/read-pods               | User/a-reader
a/cluster-reader    | ClusterRole/read-pods        | User/a-cluster
a/root              | ClusterRole/everything       | User/a-root
a/writer            | Role/write-pods              | User/a-writer
a/both              | Role/read-pods               | User/a-both
a/both-too          | Role/write-pods              | User/a-both
a/nodes             | ClusterRole/read-nodes       | User/a-nodes
a/namespaces        | ClusterRole/read-namespaces  | User/a-namespaces
a/gone              | Role/gone                    | User/gone
a/in-b              | Role/only-b                  | User/a-in-b
a/shadow            | Role/shadow                  | User/shadow
a/shadow-cluster    | ClusterRole/shadow           | User/shadow-cluster
a/paths             | Role/paths                   | User/a-paths
a/paths-cluster     | ClusterRole/paths            | User/a-paths-cluster
a/logs              | ClusterRole/read-logs        | User/a-logs
a/robot             | Role/read-pods               | ServiceAccount/robot
a/robot-of-team     | Role/write-pods              | ServiceAccount/team/robot
a/group             | Role/read-pods               | Group/devs
a/group-and-user    | Role/write-pods              | Group/ops User/ada
b/reader            | Role/read-pods               | User/a-reader
"""

# user, resource, namespace, name or ?name (in a field selector), what is allowed
REQUESTS = """
root          | pods                         | a | web   | get list watch create update patch delete deletecollection
root          | nodes                        |   | n1    | get list watch create update patch delete deletecollection
root          | widgets.example.com/status   | b | w     | get list watch create update patch delete deletecollection
stranger      | pods                         | a | web   |
stranger      | nodes                        |   | n1    |
reader        | pods                         | a | web   | get list watch
reader        | pods                         | b | web   | get list watch
reader        | pods                         |   |       | get list watch
reader        | pods/log                     | a | web   |
reader        | pods/status                  | a | web   |
reader        | pods.metrics.k8s.io          | a | web   |
reader        | secrets                      | a | s     |
reader        | pod                          | a | web   |
eve+readers   | pods                         | a | web   | get list watch
eve+reader    | pods                         | a | web   |
readers       | pods                         | a | web   |
eve+x+readers | pods                         |   |       | get list watch
logger        | pods/log                     | a | web   | get
logger        | pods                         | a | web   |
logger        | pods/exec                    | a | web   |
logger        | jobs.batch/log               | a | web   |
scaler        | deployments.apps/scale       | a | web   | get update patch
scaler        | widgets.example.com/scale    | a | web   | get update patch
scaler        | deployments.apps             | a | web   |
scaler        | deployments.apps/status      | a | web   |
scaler        | scale                        | a | web   |
app-scaler    | deployments.apps/scale       | a | web   | update
app-scaler    | widgets.example.com/scale    | a | web   |
app-scaler    | replicationcontrollers/scale | a | web   |
core          | pods                         | a | web   | get list
core          | pods/log                     | a | web   | get list
core          | secrets                      | b | s     | get list
core          | nodes                        |   | n1    | get list
core          | deployments.apps             | a | web   |
any-group     | deployments.apps             | a | web   | get
any-group     | deployments                  | a | web   | get
any-group     | deployments.example.com      | a | web   | get
any-group     | deployments.apps/scale       | a | web   |
two-groups    | deployments.apps             | a | web   | get
two-groups    | deployments.extensions       | a | web   | get
two-groups    | deployments                  | a | web   |
named         | configmaps                   | a | one   | get update delete
named         | configmaps                   | a | two   | get update delete
named         | configmaps                   | a | three |
named         | configmaps                   | a |       |
named         | configmaps                   | a | ?one  | list watch
named         | configmaps                   | a | ?two  | list watch
named         | configmaps                   | a | ?three|
named         | configmaps                   |   | ?one  | list watch
named-twice   | secrets                      | a | one   | get list
named-twice   | secrets                      | a | two   | list
named-twice   | secrets                      | a | ?two  | list
no-name       | configmaps                   | a |       | get create
no-name       | configmaps                   | a | one   | create
all-verbs     | secrets                      | a | s     | get list watch create update patch delete deletecollection
all-verbs     | secrets/status               | a | s     |
pods-star     | pods/log                     | a | web   |
pods-star     | pods                         | a | web   |
pods-star     | pods/*                       | a | web   | get list
star-of-pods  | pods/log                     | a | web   |
star-of-pods  | pods                         | a | web   |
any-verb-named| configmaps                   | a | one   | get update patch delete
any-verb-named| configmaps                   | a | ?one  | list watch
any-verb-named| configmaps                   | a |       |
mixed-case    | pods                         | a | web   |
both          | pods                         | a | web   | get
nothing       | pods                         | a | web   |
gone          | pods                         | a | web   |
gone          | pods                         | b | web   |
wrong-kind    | pods                         | a | web   |
wrong-kind    | pods                         |   |       |
ada+everyone  | nodes                        |   | n1    | get list
everyone      | nodes                        |   | n1    |
a-reader      | pods                         | a | web   | get
a-reader      | pods                         | b | web   | list
a-reader      | pods                         | c | web   |
a-reader      | pods                         |   |       |
a-cluster     | pods                         | a | web   | get list watch
a-cluster     | pods                         | b | web   |
a-cluster     | pods                         |   |       |
a-root        | secrets                      | a | s     | get list watch create update patch delete deletecollection
a-root        | roles.rbac.authorization.k8s.io | a | r  | get list watch create update patch delete deletecollection
a-root        | secrets                      | b | s     |
a-root        | secrets                      |   |       |
a-root        | nodes                        |   | n1    |
a-root        | clusterroles.rbac.authorization.k8s.io |  | r |
a-root        | namespaces                   |   | a     | get update patch delete
a-root        | namespaces/finalize          |   | a     | get update patch delete
a-root        | namespaces                   |   | b     |
a-writer      | pods                         | a | web   | create update patch delete deletecollection
a-writer      | pods                         | b | web   |
a-both        | pods                         | a | web   | get create update patch delete deletecollection
a-nodes       | nodes                        |   | n1    |
a-nodes       | nodes                        | a | n1    | get list
a-namespaces  | namespaces                   |   | a     | get delete
a-namespaces  | namespaces                   |   | b     |
a-namespaces  | namespaces                   |   |       |
a-namespaces  | namespaces                   |   | ?a    |
a-in-b        | pods                         | a | web   |
a-in-b        | pods                         | b | web   |
shadow        | pods                         | a | web   | delete
shadow        | pods                         | b | web   |
shadow-cluster| pods                         | a | web   | get
a-logs        | pods/log                     | a | web   | get
a-logs        | pods/log                     | b | web   |
sa:team:robot | nodes                        |   | n1    | get list
sa:team:robot | pods                         | a | web   | create update patch delete deletecollection
sa:team:robot | pods/log                     | b | web   | get
sa:team:robot | deployments.apps/scale       | b | web   | update
sa:team:other | nodes                        |   | n1    | get list
sa:team:other | deployments.apps/scale       | b | web   | update
sa:a:robot    | pods                         | a | web   | get
sa:a:robot    | pods                         | b | web   |
sa:a:robot    | nodes                        |   | n1    |
sa:a:robot    | deployments.apps/scale       | b | web   |
sa:b:robot    | pods                         | a | web   |
sa:a:lost     | pods                         | a | web   |
robot         | pods                         | a | web   |
eve+devs      | pods                         | a | web   | get
eve+devs      | pods                         | b | web   |
eve+ops       | pods                         | a | web   | create update patch delete deletecollection
ada           | pods                         | a | web   | create update patch delete deletecollection
ada+devs      | pods                         | a | web   | get create update patch delete deletecollection
devs          | pods                         | a | web   |
"""

PATH_VERBS = ("get", "head", "post", "put")

# user, path, what is allowed
PATHS = """
root             | /metrics             | get head post put
root             | /                    | get head post put
stranger         | /metrics             |
paths            | /metrics             | get
paths            | /metrics/            |
paths            | /metrics/x           |
paths            | /healthz/ping        | get
paths            | /healthz/            | get
paths            | /fairlead/v1         | get
paths            | /fairlead/v1/audit   | get
paths            | /fairlead/v1beta     | get
paths            | /fairlead            |
paths            | /                    |
paths-all        | /                    | get
paths-all        | /anything/at/all     | get
paths-stars      | /logs                | get
paths-stars      | /logs/x              | get
paths-stars      | /log                 |
paths-post       | /fairlead/v1/plan    | post put
paths-post       | /fairlead/v1/plan/x  |
paths-inner-star | /ax/b                |
paths-inner-star | /a*/b                | get
reader           | /api/v1/pods         |
core             | /metrics             |
both             | /metrics             | get
a-root           | /metrics             |
a-paths          | /metrics             |
a-paths-cluster  | /metrics             |
"""

# what somebody has, what they would grant, what of that they lack
COVERS = """
get pods                    | get pods                        |
get pods                    | get,list pods                   | list pods
get pods                    |                                 |
                            | get pods                        | get pods
* pods                      | get,escalate pods               |
get pods                    | * pods                          | * pods
get,list,watch,create,update,patch,delete,deletecollection pods | * pods | * pods
get * @*                    | get pods,deployments @apps,     |
get *                       | get pods,pods/log               |
get *                       | get pods @apps                  | get pods @apps
get pods,secrets            | get *                           | get *
get pods                    | get pods/log                    | get pods/log
get pods/log                | get pods                        | get pods
get */scale @*              | get deployments/scale @apps     |
get */scale @*              | get deployments @apps           | get deployments @apps
get deployments/scale @apps | get */scale @apps               | get */scale @apps
get */scale                 | get */scale                     |
get pods/*                  | get pods/log                    | get pods/log
get pods @*                 | get pods @apps,batch            |
get pods @apps              | get pods @*                     | get pods @*
get pods                    | get pods =web                   |
get pods =web               | get pods                        | get pods
get pods =web               | get pods =web                   |
get pods =web               | get pods =web,db                | get pods =db
get pods =web ; get pods =db | get pods =web,db               |
get pods ; list pods        | get,list pods                   |
get pods ; get secrets      | get pods,secrets                |
get pods ; list secrets     | get,list pods,secrets           | list pods ; get secrets
get pods =web ; list pods   | get,list pods =web              |
get ~/metrics               | get ~/metrics                   |
get ~/metrics               | get ~/metrics/x                 | get ~/metrics/x
get ~/metrics/*             | get ~/metrics/x                 |
get ~/metrics/*             | get ~/metrics                   | get ~/metrics
get ~/metrics*              | get ~/metrics,/metrics/x        |
get ~*                      | get ~/a,/b/*                    |
get ~/a/*                   | get ~/*                         | get ~/*
get ~/a/*                   | get ~/a/b/*                     |
get ~/a                     | post ~/a                        | post ~/a
* ~*                        | get pods                        | get pods
* * @*                      | get ~/metrics                   | get ~/metrics
* * @* ; * ~*               | get pods ; get ~/metrics        |
get secrets =one            | get secrets =one,one            |
get pods                    | get pods ; get pods             |
"""
