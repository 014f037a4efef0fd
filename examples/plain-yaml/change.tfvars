# The application shall log more. The plan shows one field:
#
#   ~ ConfigMap/NAMESPACE/settings: data.LOG_LEVEL

log_level = "debug"
