package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// Keys of Terraform's private state.
const (
	// memoryKey holds an [engine.Memory].
	memoryKey = "memory"
	// plannedKey holds the identity of a component whose creation is planned.
	// It reaches the delete half of a tainted replacement, which has nothing
	// else (DESIGN.md, "A failed create must not destroy at the next apply").
	plannedKey = "planned"
)

// privateReader is private state as requests carry it.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// privateWriter is private state as responses carry it.
type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func readMemory(ctx context.Context, private privateReader, diags *diag.Diagnostics) engine.Memory {
	var memory engine.Memory
	readPrivate(ctx, private, memoryKey, &memory, diags)
	return memory
}

func readPlanned(ctx context.Context, private privateReader, diags *diag.Diagnostics) *engine.Identity {
	var planned engine.Identity
	if !readPrivate(ctx, private, plannedKey, &planned, diags) {
		return nil
	}
	return &planned
}

func readPrivate(ctx context.Context, private privateReader, key string, into any, diags *diag.Diagnostics) bool {
	text, problems := private.GetKey(ctx, key)
	diags.Append(problems...)
	if len(text) == 0 {
		return false
	}
	if err := json.Unmarshal(text, into); err != nil {
		diags.AddError("Private state cannot be read", "The provider's private state of this resource is damaged: "+err.Error())
		return false
	}
	return true
}

func writePrivate(ctx context.Context, private privateWriter, key string, value any, diags *diag.Diagnostics) {
	text, err := json.Marshal(value)
	if err != nil {
		diags.AddError("Private state cannot be written", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, key, text)...)
}
