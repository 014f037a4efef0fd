# Sourced by the other scripts.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# clean_environment removes every setting of the caller by which a Terraform run or a Kubernetes
# client would reach something else than what the scripts hand to it.
clean_environment() {
  local name
  for name in $(compgen -e); do
    case $name in
      TF_ACC_TERRAFORM_PATH) ;;
      KUBECONFIG | KUBE_* | HELM_* | TF_*) unset "$name" ;;
    esac
  done
  export CHECKPOINT_DISABLE=1
}

# find_terraform sets the variable terraform, and TF_ACC_TERRAFORM_PATH for the acceptance tests.
find_terraform() {
  terraform=$("$root/scripts/terraform-path")
  export TF_ACC_TERRAFORM_PATH=$terraform
  # OpenTofu completes addresses with a registry of its own; the acceptance tests have to be told.
  if "$terraform" version | grep -q '^OpenTofu'; then
    export TF_ACC_PROVIDER_HOST=registry.opentofu.org
  fi
}

# build_provider builds the provider into the directory given.
build_provider() {
  (cd "$root" && go build -o "$1/terraform-provider-component" .)
}
