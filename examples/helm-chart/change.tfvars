# The next version of the shop. Of ten objects one changes, in one field:
#
#   ~ Deployment.apps/NAMESPACE/shop: spec.template.spec.containers[0].image

image_tag = "3.10"
