# Another colour. The database is not concerned, and is left alone.
#
#   ~ ConfigMap/NAMESPACE/shop: data.colour

colour = "blue"
