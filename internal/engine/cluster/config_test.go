package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

const testKubeconfig = `
apiVersion: v1
kind: Config
current-context: eu
contexts:
- {name: eu, context: {cluster: eu, user: admin}}
- {name: us, context: {cluster: us, user: exec}}
- {name: anonymous, context: {cluster: eu}}
- {name: dangling, context: {cluster: gone, user: gone}}
- {name: plain, context: {cluster: plain, user: admin}}
- {name: serverless, context: {cluster: serverless, user: admin}}
- {name: schemeless, context: {cluster: schemeless, user: admin}}
- {name: strange, context: {cluster: strange, user: admin}}
clusters:
- {name: eu, cluster: {server: "https://eu.example:6443", tls-server-name: eu.internal, insecure-skip-tls-verify: true}}
- {name: us, cluster: {server: "https://us.example:6443", proxy-url: "http://proxy.example:3128"}}
- {name: plain, cluster: {server: "http://127.0.0.1:8001"}}
- {name: serverless, cluster: {}}
- {name: schemeless, cluster: {server: "schemeless.example:6443"}}
- {name: strange, cluster: {server: "ftp://strange.example"}}
users:
- {name: admin, user: {token: file-token, as: auditor}}
- {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, interactiveMode: Always}}}
`

// write puts a file into a new directory and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// keyPair makes a certificate and its key.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func TestREST(t *testing.T) {
	certificate, key := keyPair(t)
	file := write(t, "kubeconfig", testKubeconfig)
	exec := &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "login", Args: []string{"-x"}, Env: map[string]string{"B": "2", "A": "1"}}
	// reached is what a request would be made with.
	type reached struct {
		Host, Token, ServerName, Proxy, As, Exec string
		Insecure, CA, Certificate                bool
	}
	tests := map[string]struct {
		config Config
		want   reached
	}{
		"the current context of a kubeconfig": {
			Config{ConfigPaths: []string{file}},
			reached{Host: "https://eu.example:6443", Token: "file-token", ServerName: "eu.internal", Insecure: true, As: "auditor"},
		},
		"another context, whose exec plugin gets no terminal": {
			Config{ConfigPaths: []string{file}, Context: "us"},
			reached{Host: "https://us.example:6443", Proxy: "http://proxy.example:3128", Exec: "get-token"},
		},
		"cluster and user beat the context": {
			Config{ConfigPaths: []string{file}, ContextCluster: "us", ContextAuthInfo: "admin"},
			reached{Host: "https://us.example:6443", Proxy: "http://proxy.example:3128", Token: "file-token", As: "auditor"},
		},
		"a host alone means https": {
			Config{Connection: Connection{Host: "10.0.0.1:6443"}},
			reached{Host: "https://10.0.0.1:6443"},
		},
		"a host keeps its path": {
			Config{Connection: Connection{Host: "https://rancher.example/k8s/clusters/c-1", Token: " abc\n"}},
			reached{Host: "https://rancher.example/k8s/clusters/c-1", Token: "abc"},
		},
		"every option together": {
			Config{Connection: Connection{Host: "https://h", ClientCertificate: certificate, ClientKey: key, ClusterCACertificate: certificate, TLSServerName: "n", ProxyURL: "socks5://p:1"}},
			reached{Host: "https://h", CA: true, Certificate: true, ServerName: "n", Proxy: "socks5://p:1"},
		},
		"a host replaces the server and the name in its certificate": {
			Config{ConfigPaths: []string{file}, Connection: Connection{Host: "https://h"}},
			reached{Host: "https://h", Token: "file-token", Insecure: true, As: "auditor"},
		},
		"a certificate authority replaces insecure": {
			Config{ConfigPaths: []string{file}, Connection: Connection{ClusterCACertificate: certificate}},
			reached{Host: "https://eu.example:6443", Token: "file-token", ServerName: "eu.internal", CA: true, As: "auditor"},
		},
		"credentials replace those of the user, not whom it impersonates": {
			Config{ConfigPaths: []string{file}, Connection: Connection{Exec: exec}},
			reached{Host: "https://eu.example:6443", ServerName: "eu.internal", Insecure: true, Exec: "login -x A=1 B=2", As: "auditor"},
		},
		"credentials do without the user of the context": {
			Config{ConfigPaths: []string{file}, Context: "dangling", ContextCluster: "us", Connection: Connection{Token: "t"}},
			reached{Host: "https://us.example:6443", Token: "t", Proxy: "http://proxy.example:3128"},
		},
		"the fallback fills gaps": {
			Config{ConfigPaths: []string{file}, Context: "anonymous", Fallback: Connection{Token: "env-token", ProxyURL: "http://env:1"}},
			reached{Host: "https://eu.example:6443", ServerName: "eu.internal", Insecure: true, Token: "env-token", Proxy: "http://env:1"},
		},
		"the fallback overrides nothing": {
			Config{ConfigPaths: []string{file}, Fallback: Connection{
				Host: "https://env", Token: "env-token", ClusterCACertificate: certificate, TLSServerName: "env",
			}},
			reached{Host: "https://eu.example:6443", Token: "file-token", ServerName: "eu.internal", Insecure: true, As: "auditor"},
		},
		"what the fallback has wrong is no matter when it is not needed": {
			Config{ConfigPaths: []string{file}, Fallback: Connection{ClientKey: "key", ProxyURL: "http://env:1"}},
			reached{Host: "https://eu.example:6443", Token: "file-token", ServerName: "eu.internal", Insecure: true, As: "auditor", Proxy: "http://env:1"},
		},
		"plain http does without the credentials of a kubeconfig": {
			Config{ConfigPaths: []string{file}, Context: "plain"},
			reached{Host: "http://127.0.0.1:8001", As: "auditor"},
		},
		"a server without a scheme means https too": {
			Config{ConfigPaths: []string{file}, Context: "schemeless"},
			reached{Host: "https://schemeless.example:6443", Token: "file-token", As: "auditor"},
		},
		"the first kubeconfig wins": {
			Config{ConfigPaths: []string{write(t, "first", "current-context: us"), file}},
			reached{Host: "https://us.example:6443", Proxy: "http://proxy.example:3128", Exec: "get-token"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := test.config.REST()
			if err != nil {
				t.Fatal(err)
			}
			have := reached{
				Host: config.Host, Token: config.BearerToken, ServerName: config.ServerName, As: config.Impersonate.UserName,
				Insecure: config.Insecure, CA: len(config.CAData) > 0, Certificate: len(config.CertData) > 0 && len(config.KeyData) > 0,
			}
			if config.Proxy != nil {
				proxy, _ := config.Proxy(nil)
				have.Proxy = proxy.String()
			}
			if plugin := config.ExecProvider; plugin != nil {
				have.Exec = strings.Join(append([]string{plugin.Command}, plugin.Args...), " ")
				for _, env := range plugin.Env {
					have.Exec += " " + env.Name + "=" + env.Value
				}
				if plugin.InteractiveMode != api.NeverExecInteractiveMode {
					t.Errorf("the exec plugin's mode is %q", plugin.InteractiveMode)
				}
			}
			if diff := cmp.Diff(test.want, have); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRESTLimits(t *testing.T) {
	config, err := Config{Connection: Connection{Host: "https://h"}}.REST()
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS != -1 || config.Timeout != 0 || config.UserAgent != UserAgent || config.WarningHandler != (rest.NoWarnings{}) {
		t.Errorf("QPS %v, timeout %v, user agent %q, warnings %v", config.QPS, config.Timeout, config.UserAgent, config.WarningHandler)
	}
}

func TestRESTExpandsHome(t *testing.T) {
	file := write(t, "kubeconfig", testKubeconfig)
	t.Setenv("HOME", filepath.Dir(file))
	if _, err := (Config{ConfigPaths: []string{"~/kubeconfig"}}).REST(); err != nil {
		t.Error(err)
	}
}

// The environment of client-go is not asked, whatever is wrong.
func TestRESTErrors(t *testing.T) {
	ambient := write(t, "ambient", testKubeconfig)
	t.Setenv("KUBECONFIG", ambient)
	t.Setenv("KUBERNETES_MASTER", "http://localhost:80")
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")

	const secret = "do-not-print"
	certificate, key := keyPair(t)
	_, otherKey := keyPair(t)
	file := write(t, "kubeconfig", testKubeconfig)
	paths := []string{file}
	tests := map[string]struct {
		config Config
		want   []string
	}{
		"nothing":             {Config{}, []string{"no cluster is configured", "config_path", "host", "KUBE_CONFIG_PATH", "KUBE_HOST"}},
		"nothing but a token": {Config{Connection: Connection{Token: secret}}, []string{"no cluster is configured"}},
		"a context without a kubeconfig": {
			Config{Context: "eu", Connection: Connection{Host: "https://h"}}, []string{"config_context: ", "neither config_path nor config_paths"},
		},
		"files that do not exist, each named, and where": {
			Config{ConfigPaths: []string{"/nowhere/a", "/nowhere/b"}, Origins: map[string]string{"config_paths": "the environment variable KUBE_CONFIG_PATHS"}},
			[]string{"KUBE_CONFIG_PATHS", `"/nowhere/a" does not exist`, `"/nowhere/b" does not exist`},
		},
		"a directory":             {Config{ConfigPaths: []string{t.TempDir()}}, []string{"is a directory"}},
		"a file that is no YAML":  {Config{ConfigPaths: []string{write(t, "broken", "users: [{token: "+secret)}}, []string{"config_paths: ", "broken"}},
		"a file of another shape": {Config{ConfigPaths: []string{write(t, "shape", "users: "+secret)}}, []string{"config_paths: ", "shape"}},
		"a file of another kind":  {Config{ConfigPaths: []string{write(t, "kind", "kind: Secret\napiVersion: v1\ndata: {a: "+secret+"}")}}, []string{"config_paths: ", "kind"}},
		"a file without a current context": {
			Config{ConfigPaths: []string{write(t, "no-context", strings.Replace(testKubeconfig, "current-context: eu", "", 1))}},
			[]string{"no current-context", "config_context", "anonymous, dangling, eu"},
		},
		"an empty file": {Config{ConfigPaths: []string{write(t, "empty", "")}}, []string{"no current-context", "its contexts: none"}},
		"a context that does not exist": {
			Config{ConfigPaths: paths, Context: "mars"}, []string{"config_context: ", `no context "mars"`, "anonymous, dangling, eu, plain, schemeless, serverless, strange, us"},
		},
		"a current context that does not exist": {
			Config{ConfigPaths: []string{write(t, "k", strings.Replace(testKubeconfig, "current-context: eu", "current-context: mars", 1))}},
			[]string{`current-context "mars"`, "anonymous, dangling"},
		},
		"cluster and user that do not exist": {
			Config{ConfigPaths: paths, ContextCluster: "mars", ContextAuthInfo: "alien"},
			[]string{"config_context_cluster: ", `no cluster "mars"`, "eu, plain, schemeless, serverless, strange, us", "config_context_auth_info: ", `no user "alien"`, "admin, exec"},
		},
		"a context that names what does not exist": {Config{ConfigPaths: paths, Context: "dangling"}, []string{`no cluster "gone"`, `no user "gone"`}},
		"a cluster without a server":               {Config{ConfigPaths: paths, Context: "serverless"}, []string{`"serverless"`, "has no server"}},
		"a cluster whose server is no URL":         {Config{ConfigPaths: paths, Context: "strange"}, []string{`"strange"`, "must be a URL"}},
		"a host that is no URL":                    {Config{Connection: Connection{Host: "https://"}}, []string{"host: ", "https://cluster.example:6443"}},
		"a host of another scheme":                 {Config{Connection: Connection{Host: "ftp://h"}}, []string{"host: "}},
		"credentials for plain http": {
			Config{Connection: Connection{Host: "http://h", Token: secret}}, []string{"host: ", "http://h", "does not use https"},
		},
		"a proxy that is no URL": {Config{Connection: Connection{Host: "h", ProxyURL: "user:" + secret + "@proxy"}}, []string{"proxy_url: "}},
		"token and exec": {
			Config{
				Connection: Connection{Host: "h", Token: secret, Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "c"}},
				Origins:    map[string]string{"token": "the environment variable KUBE_TOKEN"},
			},
			[]string{"the environment variable KUBE_TOKEN and exec are both set"},
		},
		"a token with white space":       {Config{Connection: Connection{Host: "h", Token: secret + " x"}}, []string{"token: ", "white space"}},
		"a certificate without a key":    {Config{Connection: Connection{Host: "h", ClientCertificate: certificate}}, []string{"client_certificate: ", "client_key"}},
		"a key without a certificate":    {Config{Connection: Connection{Host: "h", ClientKey: key}}, []string{"client_key: ", "client_certificate"}},
		"a key of another certificate":   {Config{Connection: Connection{Host: "h", ClientCertificate: certificate, ClientKey: otherKey}}, []string{"client_certificate: ", "client_key"}},
		"a key in base64":                {Config{Connection: Connection{Host: "h", ClientCertificate: certificate, ClientKey: secret}}, []string{"client_key: ", "base64decode"}},
		"an authority in base64":         {Config{Connection: Connection{Host: "h", ClusterCACertificate: secret}}, []string{"cluster_ca_certificate: ", "base64decode"}},
		"insecure and an authority":      {Config{Connection: Connection{Host: "h", Insecure: true, ClusterCACertificate: certificate}}, []string{"insecure and cluster_ca_certificate are both set"}},
		"exec without anything":          {Config{Connection: Connection{Host: "h", Exec: &Exec{}}}, []string{"exec.api_version: ", "exec.command: "}},
		"exec of a version that is gone": {Config{Connection: Connection{Host: "h", Exec: &Exec{Command: "c", APIVersion: "v1"}}}, []string{"exec.api_version: ", "client.authentication.k8s.io/v1beta1"}},
		"what is wrong with the fallback that is needed": {
			Config{ConfigPaths: paths, Context: "anonymous", Fallback: Connection{ClientKey: key}}, []string{"client_key: ", "client_certificate"},
		},
		"everything at once": {
			Config{ConfigPaths: []string{"/nowhere"}, Connection: Connection{Host: "ftp://h", ClientKey: key, ProxyURL: "x"}},
			[]string{"config_paths: ", "host: ", "client_key: ", "proxy_url: "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := test.config.REST()
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			for _, part := range []string{secret, "localhost"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("%q is in: %v", part, err)
				}
			}
		})
	}
}
