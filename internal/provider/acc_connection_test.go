package provider_test

import (
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// quickly is how soon the user must know that there is no connection; the CLI's own start counts.
const quickly = 15 * time.Second

// B50: what leads to no cluster is named, and nothing else is dialled instead.
func TestAccComponentB50NoCluster(t *testing.T) {
	tests := map[string]struct {
		kubernetes string
		golden     string
	}{
		"nothing is configured":              {``, "no-cluster-nothing"},
		"options that are null":              {"config_path = null\n    host = null", "no-cluster-nothing"},
		"options that are empty":             {"config_path = \"\"\n    host = \"\"", "no-cluster-empty"},
		"a kubeconfig that is not there":     {`config_path = "./nowhere/config"`, "no-cluster-file"},
		"a context that the file has not":    {"config_path = \"KUBECONFIG\"\n    config_context = \"production\"", "no-cluster-context"},
		"a file that is no kubeconfig":       {`config_path = "./main.tf"`, "no-cluster-no-kubeconfig"},
		"a server that does not answer":      {`host = "https://127.0.0.1:UNUSED"`, "no-cluster-unreachable"},
		"a certificate of somebody else":     {"config_path = \"KUBECONFIG\"\n    tls_server_name = \"elsewhere.example\"", "no-cluster-certificate"},
		"a token that the server refuses":    {"config_path = \"KUBECONFIG\"\n    token = \"wrong-s3cret-token\"", "no-cluster-token"},
		"an exec plugin that is not there":   {"config_path = \"KUBECONFIG\"\n    exec {\n      api_version = \"client.authentication.k8s.io/v1\"\n      command = \"no-such-plugin\"\n    }", "no-cluster-exec"},
		"a user of the file that has no key": {`config_path = "./user.yaml"`, "no-cluster-user"},
	}
	s := newStory(t, "offline")
	home := t.TempDir()
	s.dir = s.dir.With("HOME=" + home)
	s.file("user.yaml", `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {client-certificate: ./nowhere.crt, client-key: ./nowhere.key}}]
`)
	s.file("manifests/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	s.component()
	s.apply()
	before := s.web()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := s.part(t)
			s.provider(strings.ReplaceAll(test.kubernetes, "UNUSED", unusedPort(t)))
			started := time.Now()
			said := s.refused()
			if took := time.Since(started); took > quickly {
				t.Errorf("it took %v", took)
			}
			for _, wrong := range []string{"localhost:", "http://", "wrong-s3cret-token"} {
				if strings.Contains(said, wrong) {
					t.Errorf("it says %q:\n%s", wrong, said)
				}
			}
			said = strings.NewReplacer(s.kubeconfig, "KUBECONFIG", s.path, "DIRECTORY", home, "HOME").Replace(unwrapped(said))
			s.golden(test.golden, ports.ReplaceAllString(said, "127.0.0.1:PORT"))
		})
	}
	if diff := cmp.Diff(before, s.web()); diff != "" {
		t.Errorf("the state is another one: %s", diff)
	}
	s.provider(`config_path = "KUBECONFIG"`)
	s.expectEmptyPlan()
}

// unusedPort is a port that nobody listens on.
func unusedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
