package provider_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leaks lists the forms in which a secret is found in a text.
func leaks(text, secret string) []string {
	quoted, _ := json.Marshal(secret)
	var found []string
	for form, spelt := range map[string]string{
		"plain":  secret,
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)),
		"JSON":   strings.Trim(string(quoted), `"`),
	} {
		if strings.Contains(text, spelt) {
			found = append(found, form)
		}
	}
	return found
}

// expectNoLeak is NOLEAK of the cases, for one text.
func (s *story) expectNoLeak(where, text string, secrets ...string) {
	s.Helper()
	for _, secret := range secrets {
		if forms := leaks(text, secret); len(forms) > 0 {
			s.Errorf("%s contains %s as %v", where, secret, forms)
		}
	}
}

// expectNoLeakInFiles looks into what Terraform has written.
func (s *story) expectNoLeakInFiles(secrets ...string) {
	s.Helper()
	for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup", "saved.tfplan", "trace.log"} {
		content, err := os.ReadFile(filepath.Join(s.path, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			s.Fatal(err)
		}
		s.expectNoLeak(name, string(content), secrets...)
	}
}

const passwordManifest = `
-- manifests/app.yaml --
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData:
  password: "S3cr3t\"-Zq9!"
  note: another-S3cret
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LOG_LEVEL: info}
`

// The content of a Secret is nowhere but in the cluster.
func TestAccComponentSecretsDoNotLeak(t *testing.T) {
	s := newStory(t, "leak")
	s.files(passwordManifest)
	s.component()
	secrets := []string{`S3cr3t"-Zq9!`, "another-S3cret"}
	s.dir = s.dir.With("TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(s.path, "trace.log"))

	s.expectNoLeak("the plan", s.plan("-out=saved.tfplan"), secrets...)
	s.expectNoLeak("the saved plan", s.terraform(0, "show", "-no-color", "saved.tfplan")+s.terraform(0, "show", "-json", "saved.tfplan"), secrets...)
	s.expectNoLeak("the apply", s.apply(), secrets...)
	if value := s.field("Secret/NAMESPACE/password", "data", "password"); value != base64.StdEncoding.EncodeToString([]byte(secrets[0])) {
		t.Errorf("the Secret holds %v", value)
	}

	// A change, drift, and a key that somebody else added.
	s.replace("manifests/app.yaml", "another-S3cret", "changed-S3cret")
	secrets = append(secrets, "changed-S3cret", "drifted-S3cret", "foreign-S3cret")
	s.edit("Secret/NAMESPACE/password", func(object map[string]any) {
		data := object["data"].(map[string]any)
		data["password"] = base64.StdEncoding.EncodeToString([]byte("drifted-S3cret"))
		data["foreign"] = base64.StdEncoding.EncodeToString([]byte("foreign-S3cret"))
	})
	said := s.plan()
	s.golden("secret-changed-and-drifted", said)
	s.expectNoLeak("the plan of a change", said, secrets...)
	s.expectNoLeak("the apply of a change", s.apply(), secrets...)

	// Refusals by the server, which quote what they refuse.
	s.replace("manifests/app.yaml", "stringData:", "type: kubernetes.io/tls\nstringData:")
	s.expectNoLeak("a refusal", s.refused(), secrets...)
	s.replace("manifests/app.yaml", "type: kubernetes.io/tls\n", "")
	s.replace("manifests/app.yaml", "stringData:\n", "data:\n")
	s.expectNoLeak("a refusal of what is no base64", s.refused(), secrets...)
	s.replace("manifests/app.yaml", "data:\n", "stringData:\n")

	s.expectNoLeak("the state", s.terraform(0, "show", "-no-color")+s.terraform(0, "show", "-json"), secrets...)
	s.expectNoLeak("the destruction", s.destroy(), secrets...)
	s.expectNoLeakInFiles(secrets...)
}

// B24: what kubectl apply has left on an object holds its content in clear.
func TestAccComponentB24LastAppliedAnnotation(t *testing.T) {
	s := newStory(t, "annotated")
	s.makeNamespace()
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	s.create(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "s", "annotations": map[string]any{
			lastApplied: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"pw":"plain-visible-pw"}}`,
		}},
		"stringData": map[string]any{"pw": "plain-visible-pw"},
	})
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {pw: other-visible-pw}
`)
	s.component()
	secrets := []string{"plain-visible-pw", "other-visible-pw"}
	s.dir = s.dir.With("TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(s.path, "trace.log"))
	said := s.plan()
	s.golden("adoption-of-a-secret", warnings(said))
	s.expectNoLeak("the plan", said, secrets...)
	s.expectNoLeak("the apply", s.apply(), secrets...)
	s.expectNoLeak("the state", s.terraform(0, "show", "-json"), secrets...)
	s.expectNoLeak("the destruction", s.destroy(), secrets...)
	s.expectNoLeakInFiles(secrets...)
}

// B26: a key that leaves stringData leaves the Secret, and stringData wins over data.
func TestAccComponentB26StringData(t *testing.T) {
	s := newStory(t, "stringdata")
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {user: b2xk}
stringData: {user: admin, pass: one}
`)
	s.component()
	s.apply()
	if user := s.field("Secret/NAMESPACE/s", "data", "user"); user != "YWRtaW4=" {
		t.Errorf("the user is %v", user)
	}
	s.replace("manifests/app.yaml", ", pass: one", "")
	s.apply()
	if data := s.field("Secret/NAMESPACE/s", "data").(map[string]any); len(data) != 1 {
		t.Errorf("the data are %v", data)
	}
	s.expectNoWrites()
}
