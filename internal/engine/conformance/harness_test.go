package conformance

import (
	"strings"
	"testing"
)

func TestOrdersAreCompared(t *testing.T) {
	w := &world{namespace: "ns"}
	got := []string{"ConfigMap/a appears", "Deployment/d appears", "Deployment/d is ready", "Widget/w appears", "ConfigMap/b appears"}
	for name, c := range map[string]struct {
		want []moments
		says string
	}{
		"every moment in its place": {[]moments{{"Deployment/d appears", "ConfigMap/a appears"}, {"Deployment/d is ready"}, {"ConfigMap/b appears"}}, ""},
		"two the wrong way round":   {[]moments{{"Deployment/d appears"}, {"ConfigMap/a appears"}, {"ConfigMap/b appears"}}, `"ConfigMap/a appears" did not happen`},
		"one that did not happen":   {[]moments{{"ConfigMap/a appears", "Deployment/d appears"}, {"ConfigMap/b appears"}, {"ConfigMap/a goes"}}, `"ConfigMap/a goes" did not happen`},
		"one that is left out":      {[]moments{{"ConfigMap/a appears"}, {"ConfigMap/b appears"}}, `"Deployment/d appears" was not expected`},
		"nothing at all":            {[]moments{}, `"ConfigMap/b appears" was not expected`},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, problem := range w.compareOrder(c.want, got) {
				text.WriteString(problem.Error())
			}
			if c.says == "" && text.Len() > 0 || !strings.Contains(text.String(), c.says) {
				t.Errorf("want %q, got:\n%s", c.says, text.String())
			}
		})
	}
}

func TestStoriesWithMistakesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a key that does not exist":    {"name: a\nsteps: [{do: x, expct: {}}]\n", "expct"},
		"no steps":                     {"name: a\n", "needs a name and steps"},
		"a step that does not say":     {"name: a\nsteps: [{delete: [c]}]\n", "does not say what it does"},
		"nobody looks at the outcome":  {"name: a\nsteps: [{do: x, expect: {components: {c: {}}}}]\n", "component c"},
		"the same key twice in a step": {"name: a\nsteps: [{do: x, do: y}]\n", "do"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readStory([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("want an error that says %q, got: %v", c.says, err)
			}
		})
	}
}

func TestOtherCommandsAreRefused(t *testing.T) {
	for _, command := range []string{
		"kubectl -n NAMESPACE annotate cm x a=b", "kubectl get pods", "helm install x", "echo 'x' | kubectl -n NAMESPACE apply -f -",
		"kubectl -n NAMESPACE create configmap x --from-file=a",
	} {
		if _, err := kubectl(command); err == nil {
			t.Errorf("%s: nobody complains", command)
		}
	}
}
