// Command terraform-provider-component is started by Terraform and OpenTofu.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/kubewave/terraform-provider-component/internal/provider"
)

// version is set by the linker.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "run under a debugger: print how to attach Terraform, and keep running")
	flag.Parse()
	// Helm writes warnings that hold values to the standard logger, and Terraform
	// puts what a plugin writes there into its log.
	log.SetOutput(io.Discard)
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address:         "registry.terraform.io/kubewave/component",
		Debug:           *debug,
		ProtocolVersion: 6,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
