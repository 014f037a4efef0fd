package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	// Users of kubeconfig files that authenticate with auth-provider "oidc".
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"
)

// UserAgent is how the API server's audit log names us.
const UserAgent = "terraform-provider-component"

// Config says how an API server is reached. The zero value configures
// nothing. What it holds may be secret: it is never printed.
type Config struct {
	// ConfigPaths are kubeconfig files. Several are merged: the first one
	// that sets a name wins.
	ConfigPaths []string
	// Context, ContextCluster and ContextAuthInfo choose in these files; the
	// current context is the default.
	Context         string
	ContextCluster  string
	ContextAuthInfo string

	// Connection stands above what the kubeconfig says.
	Connection
	// Fallback stands below it: it fills in what neither Connection nor the
	// kubeconfig says, so that the environment cannot change a cluster that
	// the configuration names.
	Fallback Connection

	// Origins tells, for messages, where the value of an option was written,
	// if that is not the option itself.
	Origins map[string]string
}

// Connection holds the options that do without a kubeconfig. Certificates and
// keys are PEM texts.
type Connection struct {
	// Host is a URL, or host and port, which means https.
	Host                 string
	ClusterCACertificate string
	Insecure             bool
	TLSServerName        string
	ProxyURL             string

	// The credentials: any of them replaces all those of the kubeconfig's
	// user, so that no request carries two identities.
	Token             string
	ClientCertificate string
	ClientKey         string
	Exec              *Exec
}

// Exec is a program that prints credentials. It is run again when they
// expire, never with a terminal.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// OptionError is a problem of one or more options of a [Config]. Its text
// names them, and where they were written.
type OptionError struct {
	// Options are named as in the provider's block kubernetes; the first one
	// is the one to edit.
	Options []string
	Text    string
}

func (e *OptionError) Error() string { return e.Text }

// ErrNothingConfigured says that a Config names no cluster.
var ErrNothingConfigured = errors.New("no cluster is configured: set config_path, config_paths or host in the block kubernetes " +
	"of the provider, or one of the environment variables KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS and KUBE_HOST " +
	"(KUBECONFIG, ~/.kube/config and the service account of a pod are not used unasked)")

// REST builds the client configuration without any network call. Everything
// that is wrong is reported together. The result always names a server: the
// default of client-go, localhost, is never used.
func (c Config) REST() (*rest.Config, error) {
	if len(c.ConfigPaths) == 0 && c.Host == "" {
		return nil, errors.Join(ErrNothingConfigured, c.Check())
	}
	rules, kubeconfig, err := c.load()
	if err := errors.Join(c.Check(), err); err != nil {
		return nil, err
	}
	chosen, err := c.choose(kubeconfig)
	if err != nil {
		return nil, err
	}
	chosen.override(c.Connection)
	gaps := chosen.gaps(c.Fallback)
	chosen.override(gaps)
	if err := errors.Join(c.checkConnection(gaps), c.checkChosen(chosen)); err != nil {
		return nil, err
	}
	return chosen.rest(rules)
}

// rest hands the chosen entries to clientcmd as a kubeconfig of one context.
func (e entries) rest(rules clientcmd.ConfigAccess) (*rest.Config, error) {
	const only = "component"
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters[e.clusterName] = &e.cluster
	kubeconfig.AuthInfos[e.userName] = &e.user
	kubeconfig.Contexts[only] = &api.Context{Cluster: e.clusterName, AuthInfo: e.userName}
	config, err := clientcmd.NewNonInteractiveClientConfig(*kubeconfig, only, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the cluster's configuration cannot be used: %w", err)
	}
	config.UserAgent = UserAgent
	// The API server's priority and fairness limits the rate, better than we
	// could.
	config.QPS = -1
	// It would end watches, too: boundRequests bounds all other requests.
	config.Timeout = 0
	// client-go would print the server's warnings to stderr, where Terraform
	// does not show them.
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// override lets the options of a connection win.
func (e *entries) override(c Connection) {
	if c.Host != "" {
		e.cluster.Server = serverURL(c.Host)
		// The name in the certificate belongs to the server that was replaced.
		e.cluster.TLSServerName = ""
	}
	if c.Insecure || c.ClusterCACertificate != "" {
		e.cluster.InsecureSkipTLSVerify = c.Insecure
		e.cluster.CertificateAuthority = ""
		e.cluster.CertificateAuthorityData = []byte(c.ClusterCACertificate)
	}
	if c.TLSServerName != "" {
		e.cluster.TLSServerName = c.TLSServerName
	}
	if c.ProxyURL != "" {
		e.cluster.ProxyURL = c.ProxyURL
	}
	if c.hasCredentials() {
		e.setCredentials(c)
	}
}

// gaps returns of a connection what the entries leave open.
func (e *entries) gaps(c Connection) Connection {
	if e.cluster.Server != "" {
		c.Host = ""
	}
	if e.cluster.InsecureSkipTLSVerify || e.cluster.CertificateAuthority != "" || len(e.cluster.CertificateAuthorityData) > 0 {
		c.Insecure, c.ClusterCACertificate = false, ""
	}
	if e.cluster.TLSServerName != "" {
		c.TLSServerName = ""
	}
	if e.cluster.ProxyURL != "" {
		c.ProxyURL = ""
	}
	if e.hasCredentials() {
		c.Token, c.ClientCertificate, c.ClientKey, c.Exec = "", "", "", nil
	}
	return c
}

// setCredentials makes the connection's credentials the only ones. Whom the
// kubeconfig's user impersonates stays: that takes rights away.
func (e *entries) setCredentials(c Connection) {
	e.user = api.AuthInfo{
		Impersonate:           e.user.Impersonate,
		ImpersonateUID:        e.user.ImpersonateUID,
		ImpersonateGroups:     e.user.ImpersonateGroups,
		ImpersonateUserExtra:  e.user.ImpersonateUserExtra,
		Token:                 strings.TrimSpace(c.Token),
		ClientCertificateData: []byte(c.ClientCertificate),
		ClientKeyData:         []byte(c.ClientKey),
		Exec:                  c.Exec.config(),
	}
}

func (c Connection) hasCredentials() bool {
	return c.Token != "" || c.ClientCertificate != "" || c.ClientKey != "" || c.Exec != nil
}

func (e *Exec) config() *api.ExecConfig {
	if e == nil {
		return nil
	}
	config := &api.ExecConfig{
		APIVersion:      e.APIVersion,
		Command:         e.Command,
		Args:            e.Args,
		InteractiveMode: api.NeverExecInteractiveMode,
	}
	for name, value := range e.Env {
		config.Env = append(config.Env, api.ExecEnvVar{Name: name, Value: value})
	}
	// client-go shares the credentials of equal configurations.
	slices.SortFunc(config.Env, func(a, b api.ExecEnvVar) int { return strings.Compare(a.Name, b.Name) })
	return config
}
