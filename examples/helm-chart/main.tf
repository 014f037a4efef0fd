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
  description = "Namespace of the shop; it is created if it does not exist."
  type        = string
  default     = "helm-chart"
}

variable "image_tag" {
  description = "The version of the shop to run."
  type        = string
  default     = "3.9"
}

variable "api_token" {
  description = "The token with which the shop calls its payment service."
  type        = string
  default     = "not-a-real-token"
  sensitive   = true
}

provider "component" {
  kubernetes {
    config_path = var.kubeconfig
  }
}

resource "component" "shop" {
  name      = "shop"
  namespace = var.namespace

  source = {
    helm_chart = {
      path = "${path.module}/chart"
    }
  }

  values = {
    image    = { tag = var.image_tag }
    apiToken = var.api_token
    cache    = { memory = "64Mi" }
  }
}

output "status" {
  value = component.shop.status
}

output "objects" {
  value = keys(component.shop.objects)
}
