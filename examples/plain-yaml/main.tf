terraform {
  required_providers {
    component = {
      source = "kubewave/component"
    }
  }
}

variable "kubeconfig" {
  description = "Path of the kubeconfig of the cluster."
  type        = string
  default     = "~/.kube/config"
}

variable "namespace" {
  description = "Namespace of the application; it is created if it does not exist."
  type        = string
  default     = "plain-yaml"
}

variable "log_level" {
  description = "How much the application logs."
  type        = string
  default     = "info"
}

provider "component" {
  kubernetes {
    config_path = var.kubeconfig
  }
}

# Objects can be written in HCL, where expressions are at hand …
resource "component" "settings" {
  name      = "settings"
  namespace = var.namespace

  source = {
    files = {
      "settings.yaml" = yamlencode({
        apiVersion = "v1"
        kind       = "ConfigMap"
        metadata   = { name = "settings" }
        data = {
          LOG_LEVEL = var.log_level
          GREETING  = "hello"
        }
      })
    }
  }
}

# … or come from a directory of YAML files, as they are.
resource "component" "web" {
  name      = "web"
  namespace = var.namespace

  source = {
    directory = "${path.module}/manifests"
  }

  depends_on = [component.settings]
}

output "objects" {
  value = keys(merge(component.settings.objects, component.web.objects))
}
