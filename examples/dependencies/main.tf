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
  description = "Namespace of the components; it is created if it does not exist."
  type        = string
  default     = "dependencies"
}

variable "colour" {
  description = "The colour of the shop."
  type        = string
  default     = "green"
}

variable "maintenance" {
  description = "Leave the shop as it is for the time being."
  type        = bool
  default     = false
}

provider "component" {
  kubernetes {
    config_path = var.kubeconfig
  }
}

resource "component" "database" {
  name      = "database"
  namespace = var.namespace

  source = {
    files = { "database.yaml" = file("${path.module}/database.yaml") }
  }
}

# The shop names the database, as it would if that were in another Terraform state: it is applied
# when the database is ready, and destroyed first.
resource "component" "shop" {
  name         = "shop"
  namespace    = var.namespace
  dependencies = ["${var.namespace}/database"]
  suspend      = var.maintenance

  source = {
    files = { "shop.yaml" = templatefile("${path.module}/shop.yaml", { colour = var.colour }) }
  }
}

output "status" {
  value = component.shop.status
}
