package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// entries are the cluster and the user that a Config chooses. Without a
// kubeconfig both are empty.
type entries struct {
	clusterName string
	cluster     api.Cluster
	userName    string
	user        api.AuthInfo
}

// load reads the kubeconfig files. Without files it returns nil.
func (c Config) load() (clientcmd.ConfigAccess, *api.Config, error) {
	// Not the default rules: these read KUBECONFIG and the home directory.
	rules := &clientcmd.ClientConfigLoadingRules{}
	if len(c.ConfigPaths) == 0 {
		return rules, nil, nil
	}
	var errs []error
	for _, path := range c.ConfigPaths {
		file, err := c.kubeconfigFile(path)
		errs = append(errs, err)
		rules.Precedence = append(rules.Precedence, file)
	}
	if err := errors.Join(errs...); err != nil {
		return rules, nil, err
	}
	kubeconfig, err := rules.Load()
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "; json parse error")
		return rules, nil, c.problem("config_paths", "it is no kubeconfig: %s", text)
	}
	return rules, kubeconfig, nil
}

// kubeconfigFile makes the path of a kubeconfig absolute; "~" is the home
// directory.
func (c Config) kubeconfigFile(path string) (string, error) {
	file := path
	if file == "~" || strings.HasPrefix(file, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", c.problem("config_paths", "the ~ in %q has no meaning: %v", path, err)
		}
		file = filepath.Join(home, file[1:])
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", c.problem("config_paths", "%v", err)
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", c.problem("config_paths", "the kubeconfig %q does not exist", file)
	case err != nil:
		return "", c.problem("config_paths", "%v", err)
	case info.IsDir():
		return "", c.problem("config_paths", "%q is a directory, not a kubeconfig", file)
	}
	return file, nil
}

// choose finds the cluster and the user in the kubeconfig.
func (c Config) choose(kubeconfig *api.Config) (entries, error) {
	chosen := entries{clusterName: "provider", userName: "provider"}
	if kubeconfig == nil {
		return chosen, nil
	}
	context, err := c.chooseContext(kubeconfig)
	if err != nil {
		return chosen, err
	}
	return chosen, errors.Join(
		c.chooseCluster(&chosen, context, kubeconfig),
		c.chooseUser(&chosen, context, kubeconfig),
	)
}

// chooseContext returns an empty context when there is none and the options
// name everything that it would.
func (c Config) chooseContext(kubeconfig *api.Config) (*api.Context, error) {
	name := c.Context
	if name == "" {
		name = kubeconfig.CurrentContext
	}
	context, found := kubeconfig.Contexts[name]
	switch {
	case found:
		return context, nil
	case c.Context != "":
		return nil, c.missing("config_context", named("context", name), "contexts", namesOf(kubeconfig.Contexts))
	case name != "":
		return nil, c.missing("config_paths", named("current-context", name), "contexts", namesOf(kubeconfig.Contexts))
	case c.ContextCluster != "" || c.Host != "":
		return &api.Context{}, nil
	default:
		return nil, c.missing("config_paths", "current-context, so config_context must be set", "contexts", namesOf(kubeconfig.Contexts))
	}
}

func (c Config) chooseCluster(chosen *entries, context *api.Context, kubeconfig *api.Config) error {
	name, option := context.Cluster, "config_paths"
	if c.ContextCluster != "" {
		name, option = c.ContextCluster, "config_context_cluster"
	}
	if name == "" && c.Host != "" {
		return nil
	}
	found, ok := kubeconfig.Clusters[name]
	if !ok {
		return c.missing(option, named("cluster", name), "clusters", namesOf(kubeconfig.Clusters))
	}
	if found.Server == "" && c.Host == "" {
		return c.problem(option, "the cluster %q of the kubeconfig %s has no server", name, c.files())
	}
	chosen.clusterName, chosen.cluster = name, *found.DeepCopy()
	if found.Server != "" {
		chosen.cluster.Server = serverURL(found.Server)
	}
	return nil
}

// chooseUser does without the user of the context when there is none, or when
// the options bring credentials.
func (c Config) chooseUser(chosen *entries, context *api.Context, kubeconfig *api.Config) error {
	name, option := context.AuthInfo, "config_paths"
	if c.ContextAuthInfo != "" {
		name, option = c.ContextAuthInfo, "config_context_auth_info"
	}
	found, ok := kubeconfig.AuthInfos[name]
	switch {
	case ok:
		chosen.userName, chosen.user = name, *found.DeepCopy()
	case name == "" || (c.ContextAuthInfo == "" && c.Connection.hasCredentials()):
		return nil
	default:
		return c.missing(option, named("user", name), "users", namesOf(kubeconfig.AuthInfos))
	}
	if chosen.user.Exec != nil {
		// A provider has no terminal to ask at.
		chosen.user.Exec.InteractiveMode = api.NeverExecInteractiveMode
	}
	return nil
}

func (e *entries) hasCredentials() bool {
	u := e.user
	return u.Token != "" || u.TokenFile != "" || u.ClientCertificate != "" || len(u.ClientCertificateData) > 0 ||
		u.Username != "" || u.Password != "" || u.Exec != nil || u.AuthProvider != nil
}

// missing says what the kubeconfig has instead of what was asked for.
func (c Config) missing(option, wanted, kind string, have []string) error {
	if len(have) == 0 {
		have = []string{"none"}
	}
	return c.problem(option, "the kubeconfig %s has no %s; its %s: %s", c.files(), wanted, kind, strings.Join(have, ", "))
}

func (c Config) files() string { return strings.Join(c.ConfigPaths, ", ") }

func named(kind, name string) string { return fmt.Sprintf("%s %q", kind, name) }

func namesOf[T any](entries map[string]T) []string { return slices.Sorted(maps.Keys(entries)) }
