"""Rows of `footprints.py`, as worlds showed them: `python -m tests.sim.footprints_table` writes this file."""

OBSERVED = """
admission:CustomResourceCleanup writes customresourcedefinitions.apiextensions.k8s.io metadata.finalizers
  status.conditions[Terminating]
admission:CustomResourceNames writes customresourcedefinitions.apiextensions.k8s.io status.acceptedNames
  status.conditions[Established] status.conditions[NamesAccepted] status.storedVersions
admission:DefaultTolerationSeconds writes pods spec.tolerations
admission:NodeAuthors writes nodes metadata.annotations[fairlead.dev/author]
  metadata.annotations[fairlead.dev/cordoned-at]
admission:PlacementQuotaCount writes placementquotas.fairlead.dev status.conditions[Full] status.used
admission:Priority writes pods spec.preemptionPolicy spec.priority
admission:ResourceQuotaCount writes resourcequotas status.used
admission:SchedulerOverride writes scheduleroverrides.fairlead.dev spec.expiresAt spec.owner spec.preview
  spec.requestedBy status.held
admission:ServiceAccount writes pods spec.serviceAccount spec.serviceAccountName
admission:ServiceAddress writes services spec.clusterIP spec.clusterIPs
agent writes events count create lastTimestamp
agent writes nodes create status.conditions[DiskPressure] status.conditions[MemoryPressure]
  status.conditions[PIDPressure] status.conditions[Ready]
agent writes pods delete status.conditions[ContainersReady] status.conditions[Initialized]
  status.conditions[PodReadyToStartContainers] status.conditions[Ready] status.conditions[fairlead.dev/Deadline]
  status.containerStatuses status.hostIP status.hostIPs status.phase status.podIP status.podIPs status.startTime
autoscaler reads configmaps * metadata.labels
autoscaler reads deployments.apps spec.replicas spec.selector status.conditions[Progressing]
  status.conditions[fairlead.dev/WaitingFor] status.replicas
autoscaler reads horizontalpodautoscalers.autoscaling metadata.annotations[autoscaling.fairlead.dev/memory]
  metadata.annotations[fairlead.dev/react-to-blocked] metadata.deletionTimestamp spec.behavior spec.maxReplicas
  spec.metrics spec.minReplicas spec.scaleTargetRef status.conditions[AbleToScale] status.conditions[ScalingActive]
  status.conditions[ScalingLimited] status.currentMetrics status.currentReplicas status.desiredReplicas
  status.lastScaleTime status.observedGeneration
autoscaler reads leases.coordination.k8s.io
autoscaler reads nodes metadata.labels
autoscaler reads planesettings.fairlead.dev spec
autoscaler reads pods metadata.deletionTimestamp metadata.labels spec.containers spec.nodeName spec.resources
  spec.schedulerName spec.schedulingGates status.conditions[PodScheduled] status.conditions[Ready]
  status.containerStatuses status.initContainerStatuses status.nominatedNodeName status.phase status.startTime
autoscaler reads scheduleroverrides.fairlead.dev
autoscaler writes deployments.apps spec.replicas
autoscaler writes horizontalpodautoscalers.autoscaling metadata.annotations[autoscaling.fairlead.dev/memory]
  status.conditions[AbleToScale] status.conditions[ScalingActive] status.conditions[ScalingLimited]
  status.currentMetrics status.currentReplicas status.desiredReplicas status.lastScaleTime status.observedGeneration
cronjob reads cronjobs.batch metadata.deletionTimestamp spec.failedJobsHistoryLimit spec.jobTemplate spec.schedule
  spec.startingDeadlineSeconds spec.successfulJobsHistoryLimit spec.suspend spec.timeZone status.active
  status.lastScheduleTime status.lastSuccessfulTime
cronjob reads jobs.batch metadata.annotations[batch.kubernetes.io/cronjob-scheduled-timestamp]
  metadata.deletionTimestamp metadata.ownerReferences status.completionTime status.conditions[Complete]
  status.startTime
cronjob writes cronjobs.batch status.active status.lastScheduleTime status.lastSuccessfulTime
cronjob writes jobs.batch create delete
custom-resource-definition reads customresourcedefinitions.apiextensions.k8s.io * metadata.deletionTimestamp
  metadata.finalizers
custom-resource-definition writes customresourcedefinitions.apiextensions.k8s.io delete
daemonset reads controllerrevisions.apps data metadata.deletionTimestamp metadata.labels metadata.ownerReferences
  revision
daemonset reads daemonsets.apps metadata.annotations metadata.deletionTimestamp spec.minReadySeconds
  spec.revisionHistoryLimit spec.selector spec.template spec.updateStrategy status.currentNumberScheduled
  status.desiredNumberScheduled status.numberAvailable status.numberMisscheduled status.numberReady
  status.numberUnavailable status.observedGeneration status.progress status.updatedNumberScheduled
daemonset reads leases.coordination.k8s.io
daemonset reads nodes metadata.annotations[fairlead.dev/silent-since] metadata.deletionTimestamp metadata.labels
  spec.taints
daemonset reads pods metadata.deletionTimestamp metadata.labels metadata.ownerReferences spec.affinity spec.nodeName
  status.conditions[Ready] status.phase
daemonset reads scheduleroverrides.fairlead.dev
daemonset writes controllerrevisions.apps create
daemonset writes daemonsets.apps status.currentNumberScheduled status.desiredNumberScheduled status.numberAvailable
  status.numberReady status.numberUnavailable status.observedGeneration status.updatedNumberScheduled
daemonset writes pods create delete
deployment reads deployments.apps metadata.annotations metadata.annotations[deployment.kubernetes.io/revision]
  metadata.annotations[fairlead.dev/operation] metadata.deletionTimestamp metadata.ownerReferences
  spec.minReadySeconds spec.paused spec.progressDeadlineSeconds spec.replicas spec.revisionHistoryLimit spec.selector
  spec.strategy spec.template status.availableReplicas status.collisionCount status.conditions[Available]
  status.conditions[Progressing] status.conditions[ReplicaFailure] status.conditions[fairlead.dev/Held]
  status.conditions[fairlead.dev/WaitingFor] status.observedGeneration status.progress status.readyReplicas
  status.replicas status.unavailableReplicas status.unknownReplicas status.updatedReplicas
deployment reads leases.coordination.k8s.io heard spec.leaseDurationSeconds
deployment reads nodes metadata.annotations[fairlead.dev/silent-since] spec.taints
deployment reads pods metadata.deletionTimestamp metadata.ownerReferences spec.nodeName status.conditions[Ready]
  status.conditions[fairlead.dev/Released] status.phase
deployment reads replicasets.apps metadata.annotations metadata.annotations[deployment.kubernetes.io/desired-replicas]
  metadata.annotations[deployment.kubernetes.io/max-replicas]
  metadata.annotations[deployment.kubernetes.io/revision-history]
  metadata.annotations[deployment.kubernetes.io/revision] metadata.deletionTimestamp metadata.labels
  metadata.ownerReferences spec.minReadySeconds spec.replicas spec.template status.availableReplicas
  status.conditions[ReplicaFailure] status.conditions[fairlead.dev/WaitingFor] status.observedGeneration
  status.readyReplicas status.replicas
deployment reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.target status.held
deployment writes deployments.apps metadata.annotations[deployment.kubernetes.io/revision] status.availableReplicas
  status.conditions[Available] status.conditions[Progressing] status.conditions[ReplicaFailure]
  status.conditions[fairlead.dev/Held] status.conditions[fairlead.dev/WaitingFor] status.observedGeneration
  status.readyReplicas status.replicas status.unavailableReplicas status.unknownReplicas status.updatedReplicas
deployment writes replicasets.apps create metadata.annotations
  metadata.annotations[deployment.kubernetes.io/desired-replicas]
  metadata.annotations[deployment.kubernetes.io/max-replicas]
  metadata.annotations[deployment.kubernetes.io/revision-history]
  metadata.annotations[deployment.kubernetes.io/revision] spec.replicas
disruption reads leases.coordination.k8s.io heard spec.leaseDurationSeconds
disruption reads nodes metadata.annotations[fairlead.dev/silent-since] spec.taints
disruption reads poddisruptionbudgets.policy metadata.deletionTimestamp spec.maxUnavailable spec.minAvailable
  spec.selector status.conditions[DisruptionAllowed] status.currentHealthy status.desiredHealthy status.disruptedPods
  status.disruptionsAllowed status.expectedPods status.observedGeneration
disruption reads pods metadata.deletionTimestamp metadata.labels spec.nodeName status.conditions[Ready]
disruption writes poddisruptionbudgets.policy status.conditions[DisruptionAllowed] status.currentHealthy
  status.desiredHealthy status.disruptedPods status.disruptionsAllowed status.expectedPods status.observedGeneration
endpoint-slices reads endpointslices.discovery.k8s.io addressType endpoints
  metadata.annotations[fairlead.dev/zone-weights] metadata.deletionTimestamp metadata.labels metadata.ownerReferences
  ports
endpoint-slices reads nodes metadata.labels
endpoint-slices reads pods metadata.deletionTimestamp metadata.labels metadata.ownerReferences spec.nodeName
  status.conditions[Ready] status.conditions[fairlead.dev/Released] status.phase status.podIP
endpoint-slices reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.target
endpoint-slices reads services metadata.deletionTimestamp metadata.labels spec.clusterIP spec.ports
  spec.publishNotReadyAddresses spec.selector spec.type
endpoint-slices writes endpointslices.discovery.k8s.io create endpoints
  metadata.annotations[fairlead.dev/zone-weights] ports
events writes events count create lastTimestamp message metadata.annotations[fairlead.dev/decision]
evidence-policy reads evidencepolicies.fairlead.dev metadata.deletionTimestamp spec status.observedGeneration
  status.regions status.silent status.state status.zones
evidence-policy reads leases.coordination.k8s.io heard spec.leaseDurationSeconds spec.renewTime
evidence-policy reads nodes metadata.annotations[fairlead.dev/silent-since] metadata.labels spec.taints
evidence-policy reads pods metadata.annotations[fairlead.dev/at-most-one] metadata.deletionTimestamp
  metadata.ownerReferences spec.nodeName spec.tolerations status.conditions[fairlead.dev/Deadline]
  status.conditions[fairlead.dev/Released] status.phase
evidence-policy writes evidencepolicies.fairlead.dev status.observedGeneration status.regions status.silent
  status.state status.zones
garbage-collector reads * metadata.deletionTimestamp metadata.finalizers metadata.ownerReferences
garbage-collector reads configmaps metadata.deletionTimestamp metadata.finalizers metadata.ownerReferences
garbage-collector reads controllerrevisions.apps metadata.deletionTimestamp metadata.ownerReferences
garbage-collector reads customresourcedefinitions.apiextensions.k8s.io metadata.ownerReferences
garbage-collector reads jobs.batch
garbage-collector reads namespaces metadata.ownerReferences
garbage-collector reads pods metadata.deletionTimestamp metadata.finalizers metadata.ownerReferences
garbage-collector reads replicasets.apps metadata.deletionTimestamp
garbage-collector reads statefulsets.apps metadata.deletionTimestamp
garbage-collector writes configmaps delete metadata.ownerReferences
garbage-collector writes deployments.apps delete
garbage-collector writes pods delete
garbage-collector writes replicasets.apps delete
hollow reads nodes metadata.deletionTimestamp spec.taints status.allocatable status.conditions[Ready]
hollow reads pods metadata.deletionGracePeriodSeconds metadata.deletionTimestamp spec.activeDeadlineSeconds
  spec.containers spec.nodeName spec.restartPolicy status.conditions[ContainersReady] status.conditions[Initialized]
  status.conditions[PodScheduled] status.conditions[Ready] status.phase status.startTime
hollow writes nodes status.allocatable status.capacity status.conditions[Ready]
hollow writes pods delete status.conditions[ContainersReady] status.conditions[Initialized]
  status.conditions[PodScheduled] status.conditions[Ready] status.containerStatuses status.hostIP status.hostIPs
  status.phase status.podIP status.podIPs status.startTime
job reads jobs.batch metadata.deletionTimestamp spec.activeDeadlineSeconds spec.backoffLimit spec.backoffLimitPerIndex
  spec.completionMode spec.completions spec.managedBy spec.maxFailedIndexes spec.parallelism spec.podFailurePolicy
  spec.podReplacementPolicy spec.successPolicy spec.suspend spec.template spec.ttlSecondsAfterFinished status.active
  status.completedIndexes status.completionTime status.conditions[Complete] status.conditions[SuccessCriteriaMet]
  status.failed status.failedIndexes status.progress status.ready status.startTime status.succeeded status.terminating
  status.uncountedTerminatedPods
job reads pods metadata.annotations[batch.kubernetes.io/job-completion-index]
  metadata.annotations[fairlead.dev/replaces] metadata.deletionTimestamp metadata.finalizers metadata.ownerReferences
  status.conditions[DisruptionTarget] status.conditions[Ready] status.containerStatuses status.phase
job writes jobs.batch status.active status.completionTime status.conditions[Complete]
  status.conditions[SuccessCriteriaMet] status.ready status.startTime status.succeeded status.terminating
  status.uncountedTerminatedPods
job writes pods create delete metadata.annotations[fairlead.dev/given-up] metadata.finalizers
job-orphans reads jobs.batch
job-orphans reads pods metadata.deletionTimestamp metadata.finalizers metadata.ownerReferences
namespace reads * metadata.deletionTimestamp
namespace reads configmaps
namespace reads namespaces metadata.deletionTimestamp spec.finalizers
namespace writes events delete
namespace writes namespaces delete
namespace writes replicasets.apps delete
node-health reads evidencepolicies.fairlead.dev spec status.zones
node-health reads leases.coordination.k8s.io heard spec.renewTime
node-health reads nodes metadata.annotations[fairlead.dev/silent-since] metadata.deletionTimestamp metadata.labels
  spec.taints status.allocatable status.conditions[DiskPressure] status.conditions[MemoryPressure]
  status.conditions[PIDPressure] status.conditions[Ready]
node-health writes nodes metadata.annotations[fairlead.dev/silent-since] spec.taints status.conditions[Ready]
override-capacity reads planesettings.fairlead.dev spec
override-capacity reads pods metadata.deletionTimestamp metadata.labels metadata.ownerReferences spec.containers
  spec.initContainers spec.nodeName spec.nodeSelector spec.overhead spec.resources spec.schedulingGates
  status.conditions[PodScheduled] status.phase
override-capacity reads reservations.fairlead.dev metadata.annotations[fairlead.dev/override]
  metadata.deletionTimestamp status.allocatedTo status.phase
override-capacity reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.scope
  spec.target status.reserved
override-capacity reads schedulingpolicies.fairlead.dev spec
override-capacity writes reservations.fairlead.dev create
override-capacity writes scheduleroverrides.fairlead.dev status.reserved
override-drain reads nodes metadata.labels
override-drain reads pods metadata.deletionTimestamp metadata.ownerReferences spec.nodeName status.phase
override-drain reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.target
overrides reads endpointslices.discovery.k8s.io metadata.annotations[fairlead.dev/zone-weights]
overrides reads leases.coordination.k8s.io spec.holderIdentity
overrides reads nodes metadata.labels
overrides reads pods spec.nodeName status.phase
overrides reads reservations.fairlead.dev metadata.annotations[fairlead.dev/override] spec.capacityClass
  status.allocatedTo status.phase
overrides reads scheduleroverrides.fairlead.dev metadata.deletionTimestamp spec.approval spec.changes spec.expiresAt
  spec.priority spec.target status.active status.affectedControllers status.conditions[Residue]
  status.conditions[SchedulerOverrideObserved] status.conditions[observed.fairlead.dev/daemonset]
  status.conditions[observed.fairlead.dev/deployment] status.conditions[observed.fairlead.dev/endpoint-slices]
  status.conditions[observed.fairlead.dev/node-proxies] status.conditions[observed.fairlead.dev/override-capacity]
  status.conditions[observed.fairlead.dev/override-drain] status.conditions[observed.fairlead.dev/replicaset]
  status.conditions[observed.fairlead.dev/scheduler] status.conditions[observed.fairlead.dev/statefulset] status.held
  status.observedGeneration status.raised status.reserved status.residue status.undoPlan
overrides reads services
overrides writes scheduleroverrides.fairlead.dev status.active status.affectedControllers status.conditions[Residue]
  status.conditions[SchedulerOverrideObserved] status.conditions[observed.fairlead.dev/daemonset]
  status.conditions[observed.fairlead.dev/deployment] status.conditions[observed.fairlead.dev/endpoint-slices]
  status.conditions[observed.fairlead.dev/node-proxies] status.conditions[observed.fairlead.dev/override-capacity]
  status.conditions[observed.fairlead.dev/override-drain] status.conditions[observed.fairlead.dev/replicaset]
  status.conditions[observed.fairlead.dev/scheduler] status.conditions[observed.fairlead.dev/statefulset]
  status.observedGeneration status.residue status.undoPlan
placement-quota reads placementquotas.fairlead.dev metadata.deletionTimestamp spec.cohort spec.hard spec.nodeSelector
  status.borrowed status.observedGeneration status.used
placement-quota reads pods metadata.deletionTimestamp spec.containers spec.initContainers spec.nodeName spec.overhead
  spec.resources status.conditions[fairlead.dev/QuotaGiven] status.conditions[fairlead.dev/Released] status.phase
placement-quota writes placementquotas.fairlead.dev status.conditions[Full] status.observedGeneration status.used
plane-settings reads planesettings.fairlead.dev metadata.deletionTimestamp spec status.conditions[Applied]
  status.conditions[SchedulingPolicy] status.observedGeneration status.schedulingPolicy
plane-settings reads schedulingpolicies.fairlead.dev spec
plane-settings writes planesettings.fairlead.dev status.conditions[Applied] status.conditions[SchedulingPolicy]
  status.observedGeneration status.schedulingPolicy
pod-networks reads nodes metadata.deletionTimestamp metadata.labels spec.podCIDR
pod-networks writes nodes spec.podCIDR spec.podCIDRs
progress reads daemonsets.apps metadata.deletionTimestamp spec.template status.desiredNumberScheduled status.progress
progress reads deployments.apps metadata.deletionTimestamp spec.paused spec.progressDeadlineSeconds spec.replicas
  spec.template status.conditions[Available] status.conditions[Progressing] status.conditions[ReplicaFailure]
  status.conditions[fairlead.dev/Held] status.conditions[fairlead.dev/WaitingFor] status.progress
  status.updatedReplicas
progress reads endpointslices.discovery.k8s.io endpoints metadata.labels ports
progress reads jobs.batch metadata.deletionTimestamp spec.completions spec.parallelism spec.suspend
  status.conditions[Complete] status.progress status.succeeded
progress reads pods metadata.deletionTimestamp metadata.ownerReferences spec.nodeName spec.schedulerName
  spec.schedulingGates status.conditions[PodScheduled] status.conditions[Ready]
  status.conditions[fairlead.dev/Released] status.containerStatuses status.initContainerStatuses
  status.nominatedNodeName status.phase
progress reads replicasets.apps metadata.ownerReferences
progress reads services spec.ports spec.selector
progress reads statefulsets.apps metadata.deletionTimestamp spec.replicas spec.template status.progress
progress writes daemonsets.apps status.progress
progress writes deployments.apps status.progress
progress writes jobs.batch status.progress
progress writes statefulsets.apps status.progress
release reads evidencepolicies.fairlead.dev metadata.deletionTimestamp spec status.zones
release reads leases.coordination.k8s.io heard spec.leaseDurationSeconds spec.renewTime
release reads nodes metadata.annotations[fairlead.dev/silent-since] metadata.labels spec.taints
  status.conditions[Ready]
release reads pods metadata.annotations[fairlead.dev/at-most-one] metadata.deletionTimestamp metadata.ownerReferences
  spec.nodeName spec.tolerations status.conditions[ContainersReady] status.conditions[Initialized]
  status.conditions[PodReadyToStartContainers] status.conditions[PodScheduled] status.conditions[Ready]
  status.conditions[fairlead.dev/Deadline] status.conditions[fairlead.dev/Released] status.containerStatuses
  status.initContainerStatuses status.nominatedNodeName status.phase status.podIP status.reason status.startTime
release reads scheduleroverrides.fairlead.dev
release writes pods status.conditions[Ready] status.conditions[fairlead.dev/Released]
repair reads daemonsets.apps
repair reads deployments.apps
repair reads evidencepolicies.fairlead.dev spec
repair reads jobs.batch metadata.deletionTimestamp spec.completionMode status.succeeded status.uncountedTerminatedPods
repair reads leases.coordination.k8s.io
repair reads nodes spec.taints
repair reads planesettings.fairlead.dev spec
repair reads pods metadata.annotations[fairlead.dev/given-up] metadata.deletionTimestamp metadata.finalizers
  metadata.ownerReferences spec.nodeName status.conditions[fairlead.dev/Released] status.phase
repair reads statefulsets.apps
replicaset reads leases.coordination.k8s.io heard spec.leaseDurationSeconds
replicaset reads nodes metadata.annotations[fairlead.dev/silent-since] spec.taints
replicaset reads pods metadata.annotations[controller.kubernetes.io/pod-deletion-cost]
  metadata.annotations[fairlead.dev/operation] metadata.annotations[fairlead.dev/replaces] metadata.deletionTimestamp
  metadata.labels metadata.ownerReferences spec.nodeName status.conditions[ContainersReady]
  status.conditions[Initialized] status.conditions[PodReadyToStartContainers] status.conditions[PodScheduled]
  status.conditions[Ready] status.conditions[fairlead.dev/Released] status.containerStatuses
  status.initContainerStatuses status.nominatedNodeName status.phase status.podIP status.reason status.startTime
replicaset reads replicasets.apps metadata.deletionTimestamp metadata.labels metadata.ownerReferences
  spec.minReadySeconds spec.replicas spec.selector spec.template status.availableReplicas
  status.conditions[ReplicaFailure] status.conditions[fairlead.dev/WaitingFor] status.fullyLabeledReplicas
  status.observedGeneration status.readyReplicas status.replicas
replicaset reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.target
replicaset writes pods create delete status.conditions[fairlead.dev/QuotaGiven]
  status.conditions[fairlead.dev/Released]
replicaset writes replicasets.apps status.availableReplicas status.conditions[ReplicaFailure]
  status.conditions[fairlead.dev/WaitingFor] status.fullyLabeledReplicas status.observedGeneration
  status.readyReplicas status.replicas
replicaset writes resourcequotas status.hard status.used
reservation reads nodes metadata.labels spec.unschedulable status.allocatable status.conditions[Ready]
reservation reads pods metadata.annotations[fairlead.dev/bound-with] spec.containers spec.initContainers spec.nodeName
  spec.overhead spec.resources status.phase
reservation reads replicasets.apps
reservation reads reservations.fairlead.dev metadata.deletionTimestamp metadata.finalizers spec.allocateOnce
  spec.expiresAt spec.nodeName spec.nodeSelector spec.owner spec.requests spec.ttlSeconds status.allocatedTo
  status.conditions[Ready] status.nodeName status.observedGeneration status.phase
reservation writes reservations.fairlead.dev delete status.conditions[Ready] status.nodeName status.observedGeneration
  status.phase
resource-quota reads pods metadata.deletionTimestamp spec.containers spec.initContainers spec.overhead spec.resources
  status.conditions[fairlead.dev/QuotaGiven] status.conditions[fairlead.dev/Released] status.phase
resource-quota reads resourcequotas metadata.deletionTimestamp spec.hard spec.scopeSelector spec.scopes status.hard
  status.used
resource-quota writes resourcequotas status.hard status.used
returned reads evidencepolicies.fairlead.dev spec
returned reads leases.coordination.k8s.io heard spec.leaseDurationSeconds
returned reads nodes metadata.annotations[fairlead.dev/silent-since] spec.taints status.conditions[Ready]
returned reads pods metadata.annotations[fairlead.dev/at-most-one] metadata.annotations[fairlead.dev/on-return]
  metadata.annotations[fairlead.dev/replaces] metadata.deletionTimestamp metadata.ownerReferences spec.nodeName
  status.conditions[ContainersReady] status.conditions[Initialized] status.conditions[PodReadyToStartContainers]
  status.conditions[PodScheduled] status.conditions[Ready] status.conditions[fairlead.dev/QuotaGiven]
  status.conditions[fairlead.dev/Released] status.containerStatuses status.initContainerStatuses
  status.nominatedNodeName status.phase status.podIP status.reason status.startTime
returned writes pods delete status.conditions[fairlead.dev/QuotaGiven] status.conditions[fairlead.dev/Released]
role-aggregation reads clusterroles.rbac.authorization.k8s.io * metadata.deletionTimestamp
role-aggregation writes clusterroles.rbac.authorization.k8s.io rules
runbook reads configmaps * metadata.deletionTimestamp
runbook reads nodes
runbook reads runbookruns.fairlead.dev metadata.deletionTimestamp metadata.finalizers spec.abort spec.answers
  spec.params spec.procedure spec.requestedBy spec.runbook status.conditions[Aborting]
  status.conditions[PostconditionsMet] status.finishedAt status.message status.observedGeneration status.phase
  status.readings status.reason status.startedAt status.step status.steps
runbook writes configmaps create delete
runbook writes nodes metadata.annotations[fairlead.dev/author] metadata.annotations[fairlead.dev/cordoned-at]
  spec.unschedulable
runbook writes runbookruns.fairlead.dev delete metadata.finalizers status.conditions[Aborting]
  status.conditions[PostconditionsMet] status.conditions[PreconditionsMet] status.finishedAt status.message
  status.observedGeneration status.phase status.reason status.startedAt status.step status.steps
scheduler reads namespaces metadata.labels
scheduler reads nodes metadata.deletionTimestamp metadata.labels spec.taints spec.unschedulable status.allocatable
  status.conditions[Ready]
scheduler reads placementquotas.fairlead.dev spec.borrowingLimit spec.cohort spec.hard spec.lendingLimit
  spec.nodeSelector status.used
scheduler reads planesettings.fairlead.dev spec
scheduler reads poddisruptionbudgets.policy spec.selector status.disruptedPods status.disruptionsAllowed
  status.observedGeneration
scheduler reads pods metadata.annotations[fairlead.dev/reservation] metadata.deletionTimestamp metadata.labels
  metadata.ownerReferences spec.affinity spec.containers spec.initContainers spec.nodeName spec.nodeSelector
  spec.overhead spec.preemptionPolicy spec.priority spec.priorityClassName spec.resources spec.schedulerName
  spec.schedulingGates spec.securityContext spec.tolerations spec.topologySpreadConstraints spec.volumes
  status.conditions[PodScheduled] status.conditions[fairlead.dev/QuotaGiven] status.conditions[fairlead.dev/Released]
  status.containerStatuses status.initContainerStatuses status.nominatedNodeName status.phase status.podIP
  status.reason status.startTime
scheduler reads reservations.fairlead.dev metadata.deletionTimestamp spec.capacityClass spec.owner spec.requests
  status.nodeName status.phase
scheduler reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.priority spec.scope
  spec.target status.raised
scheduler reads schedulingpolicies.fairlead.dev spec
scheduler writes placementquotas.fairlead.dev status.conditions[Full] status.used
scheduler writes pods delete metadata.annotations[fairlead.dev/reservation] spec.nodeName
  status.conditions[DisruptionTarget] status.conditions[PodScheduled] status.conditions[fairlead.dev/QuotaGiven]
  status.nominatedNodeName
scheduler writes reservations.fairlead.dev status.allocatedTo status.conditions[Ready] status.phase
scheduling-policy reads planesettings.fairlead.dev spec
scheduling-policy reads schedulingpolicies.fairlead.dev metadata.deletionTimestamp spec status.active
  status.conditions[Active] status.observedBy status.observedGeneration
scheduling-policy writes schedulingpolicies.fairlead.dev status.active status.conditions[Active] status.observedBy
  status.observedGeneration
stale-disruption reads pods metadata.deletionTimestamp status.conditions[DisruptionTarget] status.containerStatuses
  status.initContainerStatuses status.nominatedNodeName status.phase status.podIP status.reason status.startTime
stale-disruption writes pods status.conditions[DisruptionTarget]
statefulset reads controllerrevisions.apps data metadata.deletionTimestamp metadata.labels metadata.ownerReferences
  revision
statefulset reads leases.coordination.k8s.io heard spec.leaseDurationSeconds
statefulset reads nodes metadata.annotations[fairlead.dev/silent-since] spec.taints
statefulset reads pods metadata.deletionTimestamp metadata.labels metadata.ownerReferences spec.nodeName
  status.conditions[Ready] status.conditions[fairlead.dev/Released] status.phase
statefulset reads scheduleroverrides.fairlead.dev
statefulset reads statefulsets.apps metadata.annotations metadata.deletionTimestamp spec.minReadySeconds spec.ordinals
  spec.podManagementPolicy spec.replicas spec.revisionHistoryLimit spec.selector spec.serviceName spec.template
  spec.updateStrategy status.availableReplicas status.currentReplicas status.currentRevision status.observedGeneration
  status.progress status.readyReplicas status.replicas status.updateRevision status.updatedReplicas
statefulset writes controllerrevisions.apps create revision
statefulset writes pods create delete
statefulset writes statefulsets.apps status.availableReplicas status.currentReplicas status.currentRevision
  status.observedGeneration status.readyReplicas status.replicas status.updateRevision status.updatedReplicas
taint-eviction reads evidencepolicies.fairlead.dev spec
taint-eviction reads nodes spec.taints
taint-eviction reads pods spec.nodeName
"""
