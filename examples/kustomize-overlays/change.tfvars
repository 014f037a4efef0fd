# From staging to production. The ConfigMap is generated: another content is another name, and the
# Deployment refers to the new one.
#
#   + ConfigMap/NAMESPACE/settings-b5m9bg4fk9
#   + PodDisruptionBudget.policy/NAMESPACE/api
#   ~ Deployment.apps/NAMESPACE/api: spec.replicas, spec.template.spec.containers[0].envFrom[0].configMapRef.name, spec.template.spec.containers[0].image, spec.template.spec.containers[0].resources.limits
#   - ConfigMap/NAMESPACE/settings-m72m97m222

environment = "production"
