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
  default     = "kustomize-overlays"
}

variable "environment" {
  description = "The overlay to build: staging or production."
  type        = string
  default     = "staging"
}

provider "component" {
  kubernetes {
    config_path = var.kubeconfig
  }
}

resource "component" "api" {
  name      = "api"
  namespace = var.namespace

  # The whole tree is the source, so that the overlay reaches its base; path chooses what is built.
  source = {
    directory = "${path.module}/app"
  }
  path = "overlays/${var.environment}"
}

output "summary" {
  value = component.api.summary
}

output "objects" {
  value = keys(component.api.objects)
}
