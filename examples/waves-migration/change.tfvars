# The next release: its migration runs first, and only when it is complete are the pods replaced. A
# Job cannot be changed, so its annotation says that it is deleted and created anew.
#
#   ~ Job.batch/NAMESPACE/migrate: spec.template.spec.containers[0].args[0]
#   ~ Deployment.apps/NAMESPACE/app: spec.template.spec.containers[0].image

release = "3.10"
