package provider_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// B47: a value that is known only at apply leaves the objects open, and says so.
func TestAccComponentB47UnknownValue(t *testing.T) {
	s := newStory(t, "unknown")
	s.files(release)
	s.chart("values = { tag = terraform_data.tag.output, nested = { list = [1, terraform_data.tag.output] } }")
	s.file("tag.tf", `
resource "terraform_data" "tag" {
  input = "7.0"
}
`)
	s.golden("unknown-value", s.plan())
	s.apply()
	if tag := s.field("ConfigMap/NAMESPACE/web-settings", "data", "tag"); tag != "7.0" {
		t.Errorf("the tag is %v", tag)
	}
	s.expectRevision(1)

	// An update of an unknown value.
	s.replace("tag.tf", `"7.0"`, `"8.0"`)
	s.golden("unknown-value-of-an-update", s.plan())
	s.apply()
	s.expectRevision(2)

	// A value that is unknown at plan and turns out to be the same is no revision.
	s.replace("tag.tf", `input = "8.0"`, "input = \"8.0\"\n  triggers_replace = [1]")
	s.apply()
	s.expectRevision(2)
}

// Each input on its own may be unknown at the plan of a create.
func TestAccComponentUnknownInputs(t *testing.T) {
	tests := map[string]string{
		"the path of a chart":      `source = { helm_chart = { path = terraform_data.input["chart"].output } }`,
		"a directory":              `source = { directory = terraform_data.input["manifests"].output }`,
		"the content of a file":    `source = { files = { "a.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: ${terraform_data.input["x"].output}}" } }`,
		"the map of files":         `source = { files = { (terraform_data.input["a.yaml"].output) = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" } }`,
		"the key of a value":       "source = { helm_chart = { path = \"./chart\" } }\n  values = { (terraform_data.input[\"tag\"].output) = \"2.0\" }",
		"the values as a whole":    "source = { helm_chart = { path = \"./chart\" } }\n  values = jsondecode(terraform_data.input[\"{}\"].output)",
		"the target namespace":     "source = { directory = \"./manifests\" }\n  target_namespace = terraform_data.input[\"NAMESPACE-t\"].output",
		"a policy and a timeout":   "source = { directory = \"./manifests\" }\n  delete_policy = terraform_data.input[\"Delete\"].output\n  ready_timeout = terraform_data.input[\"1m\"].output",
		"the limit of a creation":  "source = { directory = \"./manifests\" }\n  timeouts { create = terraform_data.input[\"5m\"].output }",
		"the name of the resource": "source = { directory = \"./manifests\" }\n  target_name = terraform_data.input[\"other\"].output",
	}
	s := newStory(t, "inputs")
	s.files(minimalChart + `
-- chart/templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {tag: {{ .Values.tag | quote }}}
-- manifests/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
`)
	s.file("input.tf", `
resource "terraform_data" "input" {
  for_each = toset(["chart", "manifests", "x", "a.yaml", "tag", "{}", "NAMESPACE-t", "Delete", "1m", "5m", "other"])
  input    = each.value == "chart" || each.value == "manifests" ? "./${each.value}" : each.value
}
`)
	// Each has a namespace of its own, for they bring the same object.
	resource := func(sentence string) string { return strings.ReplaceAll(sentence, " ", "_") }
	for i, sentence := range slices.Sorted(maps.Keys(tests)) {
		component := strings.Replace(webComponent(tests[sentence]), `"component" "web"`, fmt.Sprintf(`"component" %q`, resource(sentence)), 1)
		s.file(resource(sentence)+".tf", strings.Replace(component, `namespace = "NAMESPACE"`, fmt.Sprintf(`namespace = "NAMESPACE-%d"`, i), 1))
	}
	s.plan()
	s.apply()
	states := s.states()
	for sentence := range tests {
		if kept := states["component."+resource(sentence)]; kept.Status != "Ready" || len(kept.Objects) != 1 {
			t.Errorf("%s: the state is %+v", sentence, kept)
		}
	}
}

// B49: where the cluster is comes to be known at apply. The plan makes do without.
func TestAccComponentB49UnknownCluster(t *testing.T) {
	tests := map[string]struct{ kubernetes, golden string }{
		"the path of the kubeconfig": {golden: "unknown-kubeconfig", kubernetes: `config_path = terraform_data.cluster.output.config_path`},
		"host and credentials": {golden: "unknown-host", kubernetes: `host = terraform_data.cluster.output.host
    client_certificate     = terraform_data.cluster.output.certificate
    client_key             = terraform_data.cluster.output.key
    cluster_ca_certificate = terraform_data.cluster.output.ca`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, "nocluster")
			s.files(shop)
			s.component()
			s.file("cluster.tf", s.clusterData())
			s.provider(test.kubernetes)
			said := s.plan()
			s.golden(test.golden, warnings(said))
			s.expectSays(said, `+ image = "registry.example/web:1.4.2"`, "+ status = (known after apply)")
			s.apply()
			s.expectExists("Deployment.apps/NAMESPACE/web")

			// A chart may ask the cluster for what it serves.
			s.files(release)
			s.chart()
			s.apply()
			s.expectExists("Deployment.apps/NAMESPACE/web", "Secret/NAMESPACE/web-password")

			// The cluster is known no more: the component is not lost.
			s.replace("cluster.tf", "input = {", "triggers_replace = [1]\n  input = {")
			s.golden(test.golden+"-again", warnings(s.plan()))
			s.apply()
		})
	}
	t.Run("what needs no cluster is checked all the same", func(t *testing.T) {
		s := newStory(t, "nocluster")
		s.files(`
-- manifests/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NAMESPACE}
`)
		s.component()
		s.file("cluster.tf", s.clusterData())
		s.provider(`config_path = terraform_data.cluster.output.config_path`)
		s.expectSays(s.refused(), "may occur once")
	})
}

// clusterData is a resource that has what leads to the cluster as its output, known at apply.
func (s *story) clusterData() string {
	s.Helper()
	content, err := os.ReadFile(s.kubeconfig)
	if err != nil {
		s.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Certificate string `json:"client-certificate-data"`
				Key         string `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(content, &config); err != nil || len(config.Clusters) != 1 || len(config.Users) != 1 {
		s.Fatalf("the kubeconfig is not as expected: %v", err)
	}
	decode := func(text string) string {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(plain) == 0 {
			s.Fatalf("the kubeconfig has no certificates in it: %v", err)
		}
		return string(plain)
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	for name, text := range map[string]string{"ca.pem": cluster.CA, "certificate.pem": user.Certificate, "key.pem": user.Key} {
		s.file(name, decode(text))
	}
	return `
resource "terraform_data" "cluster" {
  input = {
    config_path = "KUBECONFIG"
    host        = "` + cluster.Server + `"
    ca          = file("ca.pem")
    certificate = file("certificate.pem")
    key         = file("key.pem")
  }
}
`
}
