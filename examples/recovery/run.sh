#!/usr/bin/env bash
# A workload below its target, the response that fights four controllers, and the one that ends by itself.
# Needs a new plane with five hollow nodes, KUBECONFIG for it, and kubectl and fairlead on the PATH (README.md).
set -euo pipefail
cd "$(dirname "$0")"
LASTS=${LASTS:-20s} # how long the override holds

title() { printf '\n== %s\n' "$*"; }
await() { # OBJECT FIELD VALUE
  kubectl wait "$1" "--for=jsonpath={$2}=$3" --timeout=120s >/dev/null || { kubectl get "$1" -o yaml; exit 1; }
}
risk_api() { kubectl get pods -l app=risk-api "$@"; }
placed() { risk_api -o custom-columns=POD:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase; }
conditions() { kubectl get "$1" -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}'; }
zone() { # ZONE NODE...
  kubectl label node "${@:2}" topology.kubernetes.io/region=eu-west "topology.kubernetes.io/zone=$1" >/dev/null
}

title "a region with three zones; two nodes are kept for recovery"
zone eu-west-a hollow-0
zone eu-west-b hollow-1 hollow-3
zone eu-west-c hollow-2 hollow-4
kubectl label node hollow-3 hollow-4 tier=recovery >/dev/null
kubectl apply -f 01-plane.yaml
await schedulingpolicy/with-recovery .status.active true
fairlead runbook install ../../runbooks/01-recover-workload.yaml
kubectl get nodes -L topology.kubernetes.io/zone,tier

title "risk-api is below its target, and its autoscaler adds a replica that cannot start either"
kubectl apply -f 02-stale-zone.yaml
await deployment/stale-load .status.readyReplicas 1
kubectl apply -f 03-risk-api.yaml
await deployment/risk-api .status.readyReplicas 2
kubectl apply -f 04-autoscaler.yaml
await deployment/risk-api .spec.replicas 4
await deployment/risk-api .status.unavailableReplicas 2
fairlead progress deployment/risk-api || true # 1: it is not where it should be
kubectl get hpa risk-api

title "the tempting response, asked beforehand: delete what waits, add by hand, remove a finalizer, label a node"
deletions=()
for pod in $(risk_api --field-selector=spec.nodeName= -o name); do deletions+=(--delete "$pod"); done
fairlead forecast -f risky.yaml "${deletions[@]}" || echo "exit code $?: it would be fought"

title "the runbook: 1 confirm, 2-5 one override that ends after $LASTS"
fairlead runbook run recover-workload --set workload=risk-api --set "lasts=$LASTS" --set remove=false --name recovery
await runbookrun/recovery .status.phase Asking
fairlead runbook answer recovery confirm zone=eu-west-a region=eu-west

title "6 every controller has taken note, and the replicas become ready"
await deployment/risk-api .status.readyReplicas 4
await runbookrun/recovery .status.step ended
override=$(kubectl get sov -l fairlead.dev/runbook-run=recovery -o jsonpath='{.items[0].metadata.name}')
fairlead overrides
conditions "sov/$override"
conditions hpa/risk-api
placed

title "while it holds there is time to mend the causes: the numbers of eu-west-a, and what the autoscaler goes by"
kubectl delete deployment stale-load
kubectl apply -f 05-autoscaler-mended.yaml

title "7 its time is over: the autoscaler takes back what it had added, and the override tells what it left"
kubectl wait "sov/$override" --for=condition=Residue --timeout=120s
await deployment/risk-api .status.replicas 3
conditions "sov/$override" | grep Residue
fairlead overrides --ended

title "8 what still runs on lent capacity is moved: now there is room in eu-west-a"
for node in hollow-3 hollow-4; do
  risk_api "--field-selector=spec.nodeName=$node" -o name | xargs -r kubectl delete --ignore-not-found
done
await runbookrun/recovery .status.phase Succeeded
await deployment/risk-api .status.readyReplicas 3
kubectl wait "sov/$override" --for=condition=Residue=False --timeout=120s

title "nothing is left"
fairlead runbook status recovery
fairlead overrides
fairlead overrides --ended
kubectl get reservations
placed
