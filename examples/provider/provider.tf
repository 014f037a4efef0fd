terraform {
  required_providers {
    component = {
      source = "kubewave/component"
    }
  }
}

provider "component" {
  kubernetes {
    config_path    = "~/.kube/config"
    config_context = "staging"
  }
}
