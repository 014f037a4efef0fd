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
  default     = "waves-migration"
}

variable "release" {
  description = "The release of the application to run."
  type        = string
  default     = "3.9"
}

provider "component" {
  kubernetes {
    config_path = var.kubeconfig
  }
}

resource "component" "app" {
  name      = "app"
  namespace = var.namespace

  source = {
    files = {
      for file in fileset("${path.module}/manifests", "*.yaml") :
      file => templatefile("${path.module}/manifests/${file}", { release = var.release })
    }
  }

  # A migration may take longer than the ten minutes that objects have by default.
  ready_timeout = "20m"
}

output "summary" {
  value = component.app.summary
}

output "objects" {
  value = keys(component.app.objects)
}
