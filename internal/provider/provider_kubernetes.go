package provider

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// kubernetesBlock is the block kubernetes. It stays an object because each of
// its options may be unknown, and because they are handled alike.
type kubernetesBlock struct{ types.Object }

// textOption is an option of the block that is a text.
type textOption struct {
	name, env   string
	description string
	sensitive   bool
	// inKubeconfig: it chooses in a kubeconfig, and means nothing without.
	inKubeconfig bool
	// unless names the options that say the same thing: when one of them is
	// configured, the environment variable is not read.
	unless []string
	field  func(*cluster.Config) *string
}

func textOptions() []textOption {
	return []textOption{
		{
			name: "config_context", env: "KUBE_CTX", inKubeconfig: true,
			description: "Name of the context to use. Default: the kubeconfig's current context.",
			field:       func(c *cluster.Config) *string { return &c.Context },
		},
		{
			name: "config_context_cluster", env: "KUBE_CTX_CLUSTER", inKubeconfig: true,
			description: "Name of the kubeconfig's cluster to use instead of that of the context.",
			field:       func(c *cluster.Config) *string { return &c.ContextCluster },
		},
		{
			name: "config_context_auth_info", env: "KUBE_CTX_AUTH_INFO", inKubeconfig: true,
			description: "Name of the kubeconfig's user to use instead of that of the context.",
			field:       func(c *cluster.Config) *string { return &c.ContextAuthInfo },
		},
		{
			name: "host", env: "KUBE_HOST", unless: []string{"config_path", "config_paths"},
			description: "URL of the API server, or host and port (then `https` is meant). It replaces the server of the kubeconfig's cluster.",
			field:       func(c *cluster.Config) *string { return &c.Host },
		},
		{
			name: "cluster_ca_certificate", env: "KUBE_CLUSTER_CA_CERT_DATA",
			description: "PEM-encoded certificates of the authorities that the server's certificate is checked against.",
			field:       func(c *cluster.Config) *string { return &c.ClusterCACertificate },
		},
		{
			name: "tls_server_name", env: "KUBE_TLS_SERVER_NAME",
			description: "Name that the server's certificate must bear. Default: the host name of the server.",
			field:       func(c *cluster.Config) *string { return &c.TLSServerName },
		},
		{
			name: "proxy_url", env: "KUBE_PROXY_URL", sensitive: true,
			description: "URL of the proxy for all requests to the API server; it begins with `http://`, `https://` or `socks5://`.",
			field:       func(c *cluster.Config) *string { return &c.ProxyURL },
		},
		{
			name: "token", env: "KUBE_TOKEN", sensitive: true, unless: []string{"client_certificate", "client_key", "exec"},
			description: "Bearer token. Like the other credentials it replaces all those of the kubeconfig's user. " +
				"A token that may expire before the apply ends is better fetched with `exec`.",
			field: func(c *cluster.Config) *string { return &c.Token },
		},
		{
			name: "client_certificate", env: "KUBE_CLIENT_CERT_DATA", unless: []string{"token", "exec"},
			description: "PEM-encoded client certificate; it needs `client_key`.",
			field:       func(c *cluster.Config) *string { return &c.ClientCertificate },
		},
		{
			name: "client_key", env: "KUBE_CLIENT_KEY_DATA", sensitive: true, unless: []string{"token", "exec"},
			description: "PEM-encoded key of the client certificate.",
			field:       func(c *cluster.Config) *string { return &c.ClientKey },
		},
	}
}

// kubernetesSchema is a block, not an attribute: Terraform drops a misspelt
// key of a nested attribute without a word, and another cluster would be used.
func kubernetesSchema() schema.SingleNestedBlock {
	attributes := map[string]schema.Attribute{
		"config_path": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Path of a kubeconfig file; `~` is the home directory. It excludes `config_paths`. " +
				fromEnvironment("KUBE_CONFIG_PATH"),
		},
		"config_paths": schema.ListAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Paths of kubeconfig files, which are merged: the first file that sets a name wins. It excludes `config_path`. " +
				fromEnvironment("KUBE_CONFIG_PATHS") + " The variable holds a list as in `PATH`.",
		},
		"insecure": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether to accept any certificate of the server. It excludes `cluster_ca_certificate`. Default: `false`. " +
				fromEnvironment("KUBE_INSECURE"),
		},
	}
	for _, option := range textOptions() {
		attributes[option.name] = schema.StringAttribute{
			Optional:            true,
			Sensitive:           option.sensitive,
			MarkdownDescription: option.description + " " + fromEnvironment(option.env),
		}
	}
	return schema.SingleNestedBlock{
		MarkdownDescription: "How the API server is reached: a kubeconfig (`config_path` or `config_paths`), a `host` with credentials, or both. " +
			"What is set here beats the environment, which fills in only what this block leaves open: no variable changes the server, the certificates or the " +
			"user of a kubeconfig that is named here, and none adds a kubeconfig to a `host` or other credentials to those that are set here. " +
			"An option that is set but empty is an error. `KUBECONFIG`, `~/.kube/config` and the service account of a pod are not used unless they are named.",
		Attributes: attributes,
		Blocks:     map[string]schema.Block{"exec": execSchema()},
	}
}

// execSchema requires nothing itself: Terraform would ask for required options
// even when the block is left out. The engine's check asks for them.
func execSchema() schema.SingleNestedBlock {
	return schema.SingleNestedBlock{
		MarkdownDescription: "A program that prints credentials, as in a kubeconfig. It is run again when they expire, also in the middle of an apply, " +
			"and never gets a terminal. It excludes `token`, `client_certificate` and `client_key`.",
		Attributes: map[string]schema.Attribute{
			"api_version": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Version of what the program prints: `client.authentication.k8s.io/v1` or `client.authentication.k8s.io/v1beta1`. " +
					"It is required in this block.",
			},
			"command": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "The program, looked up in `PATH`. It is required in this block.",
			},
			"args": schema.ListAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Arguments of the program.",
			},
			"env": schema.MapAttribute{
				Optional:            true,
				Sensitive:           true,
				ElementType:         types.StringType,
				MarkdownDescription: "Environment variables that the program gets besides those of Terraform.",
			},
		},
	}
}

func fromEnvironment(variable string) string {
	return "Environment variable: " + code(variable) + "."
}

// config merges the block with the environment.
func (b kubernetesBlock) config(getenv func(string) string) (cluster.Config, error) {
	config := cluster.Config{Origins: map[string]string{}}
	errs := []error{b.emptyOptions(), b.configPaths(&config, getenv)}

	// The environment overrides a kubeconfig that it names itself. It only
	// fills the gaps of one that the block names.
	fallback := cluster.Config{}
	environment := &config
	if b.isSet("config_path") || b.isSet("config_paths") {
		environment = &fallback
	}
	for _, option := range textOptions() {
		value := getenv(option.env)
		switch {
		case b.isSet(option.name):
			*option.field(&config) = b.text(option.name)
			continue
		case value == "" || slices.ContainsFunc(option.unless, b.isSet):
			continue
		case !option.inKubeconfig:
			*option.field(environment) = value
		case len(config.ConfigPaths) > 0:
			*option.field(&config) = value
		}
		config.Origins[option.name] = variable(option.env)
	}
	errs = append(errs, b.insecure(&config, environment, getenv))
	config.Exec = b.exec()
	config.Fallback = fallback.Connection
	return config, errors.Join(errs...)
}

// configPaths decides which kubeconfig files are read.
func (b kubernetesBlock) configPaths(config *cluster.Config, getenv func(string) string) error {
	one, several := getenv("KUBE_CONFIG_PATH"), getenv("KUBE_CONFIG_PATHS")
	switch {
	case b.isSet("config_path") && b.isSet("config_paths"):
		return b.problem("config_path", "config_path and config_paths are both set: the kubeconfig is named by one of them")
	case b.isSet("config_path"):
		config.ConfigPaths = []string{b.text("config_path")}
		config.Origins["config_paths"] = "config_path"
	case b.isSet("config_paths"):
		config.ConfigPaths = stringsOr(b.option("config_paths").(types.List), nil)
	case b.isSet("host"):
		// The credentials of an ambient kubeconfig are not for this host.
	case one != "" && several != "" && one != several:
		return b.problem("config_path", "the environment variables KUBE_CONFIG_PATH and KUBE_CONFIG_PATHS are both set, and differ")
	case one != "":
		config.ConfigPaths = []string{one}
		config.Origins["config_paths"] = variable("KUBE_CONFIG_PATH")
	case several != "":
		config.ConfigPaths = slices.DeleteFunc(filepath.SplitList(several), func(path string) bool { return path == "" })
		config.Origins["config_paths"] = variable("KUBE_CONFIG_PATHS")
	}
	return nil
}

// insecure merges the option insecure, which excludes a certificate: the block
// decides which of the two counts.
func (b kubernetesBlock) insecure(config, environment *cluster.Config, getenv func(string) string) error {
	if b.isSet("insecure") {
		config.Insecure = b.option("insecure").(types.Bool).ValueBool()
		if config.Insecure && !b.isSet("cluster_ca_certificate") {
			config.ClusterCACertificate = ""
		}
		return nil
	}
	const env = "KUBE_INSECURE"
	value := getenv(env)
	if value == "" || b.isSet("cluster_ca_certificate") {
		return nil
	}
	insecure, err := strconv.ParseBool(value)
	if err != nil {
		return b.problem("insecure", "%s is %q, which is neither true nor false", variable(env), value)
	}
	environment.Insecure = insecure
	config.Origins["insecure"] = variable(env)
	return nil
}

func (b kubernetesBlock) exec() *cluster.Exec {
	block, ok := b.option("exec").(types.Object)
	if !ok || block.IsNull() {
		return nil
	}
	attributes := block.Attributes()
	exec := &cluster.Exec{
		APIVersion: attributes["api_version"].(types.String).ValueString(),
		Command:    attributes["command"].(types.String).ValueString(),
		Args:       stringsOr(attributes["args"].(types.List), nil),
		Env:        map[string]string{},
	}
	for name, value := range attributes["env"].(types.Map).Elements() {
		exec.Env[name] = value.(types.String).ValueString()
	}
	return exec
}

// emptyOptions finds the options that are set but empty. The environment does
// not replace them: what is empty by mistake would choose another cluster.
func (b kubernetesBlock) emptyOptions() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.Attributes())) {
		if isEmpty(b.option(name)) {
			errs = append(errs, b.problem(name, "%s is set but empty: give it a value, or null to leave it to the environment", name))
		}
	}
	return errors.Join(errs...)
}

// isEmpty says whether a value is an empty text, or a list that is empty or
// holds one.
func isEmpty(value attr.Value) bool {
	switch value := value.(type) {
	case types.String:
		return !value.IsNull() && !value.IsUnknown() && strings.TrimSpace(value.ValueString()) == ""
	case types.List:
		return !value.IsNull() && !value.IsUnknown() &&
			(len(value.Elements()) == 0 || slices.ContainsFunc(value.Elements(), isEmptyOrNull))
	default:
		return false
	}
}

func isEmptyOrNull(value attr.Value) bool { return value.IsNull() || isEmpty(value) }

func (b kubernetesBlock) option(name string) attr.Value { return b.Attributes()[name] }

func (b kubernetesBlock) text(name string) string {
	return b.option(name).(types.String).ValueString()
}

// isSet says whether the configuration sets an option, such as "host" or
// "exec.command".
func (b kubernetesBlock) isSet(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	value := b.option(name)
	return value != nil && !value.IsNull()
}

func (b kubernetesBlock) problem(option, format string, args ...any) error {
	return &cluster.OptionError{Options: []string{option}, Text: fmt.Sprintf(format, args...)}
}

func variable(name string) string { return "the environment variable " + name }
