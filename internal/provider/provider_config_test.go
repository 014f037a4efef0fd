package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// settingsFrom reads a configuration with an environment.
func settingsFrom(t *testing.T, config attributes, env map[string]string) *settings {
	t.Helper()
	var model providerModel
	if diags := providerConfig(t, config).Get(t.Context(), &model); diags.HasError() {
		t.Fatal(diags)
	}
	return model.settings(t.Context(), func(name string) string { return env[name] })
}

func TestSettingsDefaults(t *testing.T) {
	want := &settings{
		AnnotationPrefix:       "component-operator.cs.sap.com",
		FieldManager:           "terraform-provider-component",
		ReclaimedFieldManagers: []string{"kubectl"},
		AdoptedFieldManagers:   []string{"helm", "Terraform", "kustomize-controller", "argocd-controller"},
		MaxConcurrentRequests:  16,
		Cluster:                cluster.Config{Origins: map[string]string{}},
	}
	if diff := cmp.Diff(want, settingsFrom(t, attributes{}, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsTopLevel(t *testing.T) {
	have := settingsFrom(t, attributes{
		"annotation_prefix": "example.com", "field_manager": "fm", "cluster_id": "blue", "max_concurrent_requests": 4,
		"reclaimed_field_managers": []any{}, "adopted_field_managers": []any{"helm"},
	}, nil)
	want := &settings{
		AnnotationPrefix: "example.com", FieldManager: "fm", ClusterID: "blue", MaxConcurrentRequests: 4,
		ReclaimedFieldManagers: []string{}, AdoptedFieldManagers: []string{"helm"},
	}
	if diff := cmp.Diff(want, have, cmpopts.IgnoreFields(settings{}, "Cluster")); diff != "" {
		t.Error(diff)
	}
}

// Each option that is a text, alone: from the block, from the environment, and
// from both.
func TestEveryTextOption(t *testing.T) {
	for _, option := range textOptions() {
		t.Run(option.name, func(t *testing.T) {
			env := map[string]string{option.env: "environment"}
			block := attributes{option.name: "block"}
			// What an option needs in order to mean something.
			base := map[string]string{}
			if option.inKubeconfig {
				base["KUBE_CONFIG_PATH"], env["KUBE_CONFIG_PATH"] = "/a", "/a"
			}
			for _, test := range []struct {
				name, want string
				block      any
				env        map[string]string
			}{
				{"in the block", "block", block, base},
				{"in the environment", "environment", nil, env},
				{"in both", "block", block, env},
				{"in neither", "", nil, base},
				{"null in the block", "environment", attributes{option.name: nil}, env},
				{"empty in the block", "", attributes{option.name: ""}, env},
			} {
				have := settingsFrom(t, attributes{"kubernetes": test.block}, test.env)
				if value := *option.field(&have.Cluster); value != test.want {
					t.Errorf("%s: %q, want %q", test.name, value, test.want)
				}
				if empty := test.name == "empty in the block"; empty != (have.ConfigError != nil) {
					t.Errorf("%s: error %v", test.name, have.ConfigError)
				}
				if fromEnv := test.want == "environment"; fromEnv != (have.Cluster.Origins[option.name] == "the environment variable "+option.env) {
					t.Errorf("%s: origins %v", test.name, have.Cluster.Origins)
				}
			}
			unknown := settingsFrom(t, attributes{"kubernetes": attributes{option.name: notKnown{}}}, env)
			if diff := cmp.Diff([]string{"kubernetes." + option.name}, unknown.Unknown); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(cluster.Config{}, unknown.Cluster); diff != "" {
				t.Errorf("an unknown option was replaced: %s", diff)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	tests := map[string]struct {
		config attributes
		want   []string
	}{
		"everything is known": {attributes{"kubernetes": attributes{"host": "h"}}, nil},
		"the block":           {attributes{"kubernetes": notKnown{}}, []string{"kubernetes"}},
		"a part of a list":    {attributes{"kubernetes": attributes{"config_paths": []any{"/a", notKnown{}}}}, []string{"kubernetes.config_paths"}},
		"a part of exec":      {attributes{"kubernetes": attributes{"exec": attributes{"command": "c", "args": []any{notKnown{}}}}}, []string{"kubernetes.exec"}},
		"insecure":            {attributes{"kubernetes": attributes{"insecure": notKnown{}}}, []string{"kubernetes.insecure"}},
		"several": {
			attributes{
				"kubernetes": attributes{"token": notKnown{}}, "annotation_prefix": notKnown{}, "field_manager": notKnown{}, "cluster_id": notKnown{},
				"max_concurrent_requests": notKnown{}, "reclaimed_field_managers": notKnown{}, "adopted_field_managers": []any{notKnown{}},
			},
			[]string{
				"adopted_field_managers", "annotation_prefix", "cluster_id", "field_manager", "kubernetes.token", "max_concurrent_requests",
				"reclaimed_field_managers",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			have := settingsFrom(t, test.config, map[string]string{"KUBE_HOST": "ambient"})
			if diff := cmp.Diff(test.want, have.Unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The block beats the environment also where two options say the same thing.
func TestBlockAndEnvironment(t *testing.T) {
	exec := attributes{"api_version": "v", "command": "c", "args": []any{"a", ""}, "env": map[string]any{"K": "V"}}
	wantExec := &cluster.Exec{APIVersion: "v", Command: "c", Args: []string{"a", ""}, Env: map[string]string{"K": "V"}}
	credentials := map[string]string{"KUBE_TOKEN": "t", "KUBE_CLIENT_CERT_DATA": "c", "KUBE_CLIENT_KEY_DATA": "k"}
	tests := map[string]struct {
		block any
		env   map[string]string
		want  cluster.Config
	}{
		"config_path": {attributes{"config_path": "/a"}, nil, cluster.Config{ConfigPaths: []string{"/a"}}},
		"config_path beats both variables": {
			attributes{"config_path": "/a"}, map[string]string{"KUBE_CONFIG_PATH": "/b", "KUBE_CONFIG_PATHS": "/c"}, cluster.Config{ConfigPaths: []string{"/a"}},
		},
		"config_paths beats both variables": {
			attributes{"config_paths": []any{"/a", "/b"}}, map[string]string{"KUBE_CONFIG_PATH": "/c", "KUBE_CONFIG_PATHS": "/d"},
			cluster.Config{ConfigPaths: []string{"/a", "/b"}},
		},
		"KUBE_CONFIG_PATH":  {nil, map[string]string{"KUBE_CONFIG_PATH": "/a"}, cluster.Config{ConfigPaths: []string{"/a"}}},
		"KUBE_CONFIG_PATHS": {nil, map[string]string{"KUBE_CONFIG_PATHS": "/a::/b"}, cluster.Config{ConfigPaths: []string{"/a", "/b"}}},
		"both variables that say the same": {
			nil, map[string]string{"KUBE_CONFIG_PATH": "/a", "KUBE_CONFIG_PATHS": "/a"}, cluster.Config{ConfigPaths: []string{"/a"}},
		},
		"KUBECONFIG is not read": {nil, map[string]string{"KUBECONFIG": "/a"}, cluster.Config{}},
		"a host gets no kubeconfig of the environment": {
			attributes{"host": "h"}, map[string]string{"KUBE_CONFIG_PATH": "/a", "KUBE_CTX": "c", "KUBE_CTX_CLUSTER": "c", "KUBE_CTX_AUTH_INFO": "u"},
			cluster.Config{Connection: cluster.Connection{Host: "h"}},
		},
		"an empty host gets none either": {attributes{"host": ""}, map[string]string{"KUBE_CONFIG_PATH": "/a", "KUBE_HOST": "h"}, cluster.Config{}},
		"a host gets the other options of the environment": {
			attributes{"host": "h"}, map[string]string{"KUBE_TOKEN": "t", "KUBE_CLUSTER_CA_CERT_DATA": "ca"},
			cluster.Config{Connection: cluster.Connection{Host: "h", Token: "t", ClusterCACertificate: "ca"}},
		},
		"a kubeconfig of the environment is overridden by it": {
			nil, map[string]string{"KUBE_CONFIG_PATH": "/a", "KUBE_HOST": "h", "KUBE_TOKEN": "t", "KUBE_CTX": "c"},
			cluster.Config{ConfigPaths: []string{"/a"}, Context: "c", Connection: cluster.Connection{Host: "h", Token: "t"}},
		},
		"a kubeconfig of the block is only completed by it": {
			attributes{"config_path": "/a"}, map[string]string{
				"KUBE_HOST": "h", "KUBE_TOKEN": "t", "KUBE_CTX": "c", "KUBE_PROXY_URL": "p", "KUBE_INSECURE": "true",
			},
			cluster.Config{ConfigPaths: []string{"/a"}, Context: "c", Fallback: cluster.Connection{Token: "t", ProxyURL: "p", Insecure: true}},
		},
		"options of the block override its kubeconfig": {
			attributes{"config_path": "/a", "host": "h", "token": "t"}, map[string]string{"KUBE_TOKEN": "x"},
			cluster.Config{ConfigPaths: []string{"/a"}, Connection: cluster.Connection{Host: "h", Token: "t"}},
		},
		"exec": {attributes{"exec": exec}, nil, cluster.Config{Connection: cluster.Connection{Exec: wantExec}}},
		"exec beats other credentials of the environment": {
			attributes{"exec": exec}, credentials, cluster.Config{Connection: cluster.Connection{Exec: wantExec}},
		},
		"a token beats a certificate of the environment": {
			attributes{"token": "x"}, credentials, cluster.Config{Connection: cluster.Connection{Token: "x"}},
		},
		"a certificate beats a token of the environment, which may bring its key": {
			attributes{"client_certificate": "x"}, credentials, cluster.Config{Connection: cluster.Connection{ClientCertificate: "x", ClientKey: "k"}},
		},
		"insecure":      {attributes{"insecure": true}, nil, cluster.Config{Connection: cluster.Connection{Insecure: true}}},
		"KUBE_INSECURE": {nil, map[string]string{"KUBE_INSECURE": "1"}, cluster.Config{Connection: cluster.Connection{Insecure: true}}},
		"insecure = false beats KUBE_INSECURE": {
			attributes{"insecure": false}, map[string]string{"KUBE_INSECURE": "true", "KUBE_CLUSTER_CA_CERT_DATA": "ca"},
			cluster.Config{Connection: cluster.Connection{ClusterCACertificate: "ca"}},
		},
		"insecure beats an authority of the environment": {
			attributes{"insecure": true}, map[string]string{"KUBE_CLUSTER_CA_CERT_DATA": "ca"}, cluster.Config{Connection: cluster.Connection{Insecure: true}},
		},
		"an authority beats KUBE_INSECURE": {
			attributes{"cluster_ca_certificate": "ca"}, map[string]string{"KUBE_INSECURE": "true"},
			cluster.Config{Connection: cluster.Connection{ClusterCACertificate: "ca"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			have := settingsFrom(t, attributes{"kubernetes": test.block}, test.env)
			if diff := cmp.Diff(test.want, have.Cluster, cmpopts.IgnoreFields(cluster.Config{}, "Origins"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigError(t *testing.T) {
	tests := map[string]struct {
		block any
		env   map[string]string
		want  string
	}{
		"config_path and config_paths": {
			attributes{"config_path": "/a", "config_paths": []any{"/b"}}, nil,
			"config_path and config_paths are both set: the kubeconfig is named by one of them",
		},
		"variables that contradict each other": {
			nil, map[string]string{"KUBE_CONFIG_PATH": "/a", "KUBE_CONFIG_PATHS": "/b"},
			"the environment variables KUBE_CONFIG_PATH and KUBE_CONFIG_PATHS are both set, and differ",
		},
		"a variable that is no truth value": {
			nil, map[string]string{"KUBE_INSECURE": "perhaps"}, `the environment variable KUBE_INSECURE is "perhaps", which is neither true nor false`,
		},
		"every option that is set but empty": {
			attributes{"token": "", "config_path": ""}, nil,
			"config_path is set but empty: give it a value, or null to leave it to the environment\n" +
				"token is set but empty: give it a value, or null to leave it to the environment",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			have := settingsFrom(t, attributes{"kubernetes": test.block}, test.env)
			if have.ConfigError == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, have.ConfigError.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
