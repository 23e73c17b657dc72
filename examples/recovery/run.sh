#!/usr/bin/env bash
# A workload below its target, the response that fights four controllers, and the one that ends by itself.
# Needs a new plane with five hollow nodes, KUBECONFIG for it, and kubectl and fairlead on the PATH (README.md). HOLD: a
# file that holds the plane's watch of nodes back while it exists (stale.sh); without it, what the scheduler has not heard
# is told to nobody.
set -euo pipefail
cd "$(dirname "$0")"
LASTS=${LASTS:-25s} # how long the override holds

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

title "eu-west-a was closed for maintenance; that is over, and the scheduler has not heard"
kubectl cordon hollow-0
kubectl apply -f 02-neighbours.yaml
await deployment/neighbours .status.readyReplicas 2
if [ -n "${HOLD:-}" ]; then
  touch "$HOLD"
  kubectl uncordon hollow-0
fi

title "risk-api is below its target, and its autoscaler adds a replica that cannot start either"
kubectl apply -f 03-risk-api.yaml
await deployment/risk-api .status.readyReplicas 2
kubectl apply -f 04-autoscaler.yaml
await deployment/risk-api .spec.replicas 4
await deployment/risk-api .status.unavailableReplicas 2
fairlead progress deployment/risk-api || true # 1: it is not where it should be
kubectl get hpa risk-api

title "1 is it a shortage, or what the scheduler does not know?"
fairlead debug deployment/risk-api
kubectl get node hollow-0

title "the tempting response, asked beforehand: delete what waits, add by hand, remove a finalizer, label a node"
deletions=()
for pod in $(risk_api --field-selector=spec.nodeName= -o name); do deletions+=(--delete "$pod"); done
fairlead forecast -f risky.yaml "${deletions[@]}" || echo "exit code $?: it would be fought"

title "the runbook: 1 confirmed, 2-5 one override that ends after $LASTS"
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

title "the scheduler hears of eu-west-a, where now there is most room: others go there, risk-api does not"
if [ -n "${HOLD:-}" ]; then rm "$HOLD"; else kubectl uncordon hollow-0; fi
until fairlead plan -f 06-stranger.yaml | grep hollow-0; do sleep 0.2; done
risk_api --field-selector=spec.nodeName=hollow-1 -o name | xargs kubectl delete
await deployment/risk-api .status.readyReplicas 4
again=$(risk_api --field-selector=spec.nodeName=hollow-1 -o name)
fairlead why-not "$again" hollow-0 || true # 1: it could not go there

title "while it holds there is time to mend what the autoscaler goes by"
kubectl apply -f 05-autoscaler-mended.yaml

title "7 its time is over: the autoscaler takes back what it had added, and the override tells what it left"
kubectl wait "sov/$override" --for=condition=Residue --timeout=120s
await deployment/risk-api .status.replicas 3
conditions "sov/$override" | grep Residue
fairlead overrides --ended

title "8 what still runs on lent capacity is moved: eu-west-a may take new replicas again"
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
