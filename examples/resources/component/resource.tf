# A Helm chart with values. The plan shows each of its objects, field by field.
resource "component" "shop" {
  name      = "shop"
  namespace = "shop"

  source = {
    helm_chart = {
      path = "${path.module}/charts/shop"
    }
  }

  values = {
    image = { tag = "1.5.0" }
    ingress = {
      hosts = ["shop.example.com"]
    }
  }

  ready_timeout = "5m"
}

# A kustomization: the directory is the source, and path is what is built in it.
resource "component" "api" {
  name      = "api"
  namespace = "shop"

  source = {
    directory = "${path.module}/app"
  }
  path = "overlays/production"

  depends_on = [component.shop]
}

# Objects written in HCL.
resource "component" "limits" {
  name      = "limits"
  namespace = "shop"

  source = {
    files = {
      "quota.yaml" = yamlencode({
        apiVersion = "v1"
        kind       = "ResourceQuota"
        metadata   = { name = "quota" }
        spec       = { hard = { pods = "50" } }
      })
    }
  }

  # The quota outlives the component.
  delete_policy = "Orphan"
}
