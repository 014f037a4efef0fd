package provider

import (
	"context"
	"testing"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

func TestLeaving(t *testing.T) {
	web := engine.Memory{Instance: "1", Owner: "shop/web"}
	heir := engine.Memory{Instance: "2", Owner: "shop/web"}
	tests := map[string]struct {
		before func(l *leaving)
		want   bool
	}{
		"an owner that was not read stays": {func(*leaving) {}, false},
		"an owner without an instance stays": {func(l *leaving) {
			l.saw(engine.Memory{Owner: "shop/web"})
		}, false},
		"an owner that was read, and of which nothing is planned, leaves": {func(l *leaving) {
			l.saw(web)
		}, true},
		"an owner of which something is planned stays": {func(l *leaving) {
			l.saw(web)
			l.planned(web)
		}, false},
		"an owner of which something else is planned leaves": {func(l *leaving) {
			l.saw(web)
			l.planned(heir)
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLeaving()
			test.before(l)
			// The grace is over: it is there for Terraform.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got := l.includes(ctx, "shop/web"); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
	t.Run("an owner of which something is planned a moment later stays", func(t *testing.T) {
		l := newLeaving()
		l.saw(web)
		answer := make(chan bool)
		go func() { answer <- l.includes(t.Context(), "shop/web") }()
		l.planned(heir)
		l.planned(web)
		if <-answer {
			t.Error("it leaves")
		}
	})
}
