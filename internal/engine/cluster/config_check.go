package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"

	execv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	execv1beta1 "k8s.io/client-go/pkg/apis/clientauthentication/v1beta1"
)

// Check reports everything that is wrong with the options by themselves; of
// the fallback is known only later what counts. It reads no file and makes no
// network call. Each problem is an [OptionError].
func (c Config) Check() error {
	var errs []error
	if len(c.ConfigPaths) == 0 {
		for _, option := range [][2]string{
			{"config_context", c.Context},
			{"config_context_cluster", c.ContextCluster},
			{"config_context_auth_info", c.ContextAuthInfo},
		} {
			if option[1] != "" {
				errs = append(errs, c.problem(option[0], "it chooses in a kubeconfig, but neither config_path nor config_paths is set"))
			}
		}
	}
	return errors.Join(append(errs, c.checkConnection(c.Connection))...)
}

func (c Config) checkConnection(n Connection) error {
	return errors.Join(c.checkServer(n), c.checkCredentials(n), c.checkExec(n.Exec))
}

func (c Config) checkServer(n Connection) error {
	var errs []error
	if n.Host != "" && !isServer(serverURL(n.Host)) {
		errs = append(errs, c.problem("host", "it must be a URL such as https://cluster.example:6443, or a host and a port"))
	}
	if n.Insecure && n.ClusterCACertificate != "" {
		errs = append(errs, c.contradiction("insecure", "cluster_ca_certificate", "the server's certificate is either checked or not"))
	}
	if n.ClusterCACertificate != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(n.ClusterCACertificate)) {
		errs = append(errs, c.problem("cluster_ca_certificate", notPEM))
	}
	if n.ProxyURL != "" {
		errs = append(errs, c.checkProxy(n.ProxyURL))
	}
	return errors.Join(errs...)
}

// notPEM never quotes the text: it may be a key.
const notPEM = "it is not a PEM text; if it is base64, decode it with base64decode(...), if it is a path, read it with file(...)"

func (c Config) checkProxy(proxy string) error {
	parsed, err := url.Parse(proxy)
	if err == nil && parsed.Host != "" {
		switch parsed.Scheme {
		case "http", "https", "socks5":
			return nil
		}
	}
	return c.problem("proxy_url", "the proxy must be a URL that begins with http://, https:// or socks5://")
}

func (c Config) checkCredentials(n Connection) error {
	var errs []error
	if n.Exec != nil && n.Token != "" {
		errs = append(errs, c.contradiction("token", "exec", "the credentials come from one of them"))
	}
	if n.Exec != nil && (n.ClientCertificate != "" || n.ClientKey != "") {
		errs = append(errs, c.contradiction("client_certificate", "exec", "the credentials come from one of them"))
	}
	if strings.ContainsAny(strings.TrimSpace(n.Token), " \t\r\n") {
		errs = append(errs, c.problem("token", "it contains white space"))
	}
	switch {
	case n.ClientCertificate != "" && n.ClientKey == "":
		errs = append(errs, c.problem("client_certificate", "it needs its client_key too"))
	case n.ClientCertificate == "" && n.ClientKey != "":
		errs = append(errs, c.problem("client_key", "it needs its client_certificate too"))
	case n.ClientCertificate != "":
		errs = append(errs, c.checkKeyPair(n))
	}
	return errors.Join(errs...)
}

func (c Config) checkKeyPair(n Connection) error {
	_, err := tls.X509KeyPair([]byte(n.ClientCertificate), []byte(n.ClientKey))
	switch {
	case err == nil:
		return nil
	case !strings.Contains(n.ClientCertificate, "-----BEGIN "):
		return c.problem("client_certificate", notPEM)
	case !strings.Contains(n.ClientKey, "-----BEGIN "):
		return c.problem("client_key", notPEM)
	default:
		return c.problem("client_certificate", "it cannot be used with %s: %v", c.origin("client_key"), err)
	}
}

func (c Config) checkExec(exec *Exec) error {
	if exec == nil {
		return nil
	}
	var errs []error
	accepted := []string{execv1.SchemeGroupVersion.String(), execv1beta1.SchemeGroupVersion.String()}
	switch {
	case exec.APIVersion == "":
		errs = append(errs, c.problem("exec.api_version", "it is required; it is one of %s", strings.Join(accepted, ", ")))
	case exec.APIVersion != accepted[0] && exec.APIVersion != accepted[1]:
		errs = append(errs, c.problem("exec.api_version", "%q is not one of %s", exec.APIVersion, strings.Join(accepted, ", ")))
	}
	if exec.Command == "" {
		errs = append(errs, c.problem("exec.command", "it is required"))
	}
	return errors.Join(errs...)
}

// checkChosen checks what only options and kubeconfig together show.
func (c Config) checkChosen(chosen entries) error {
	var errs []error
	server := chosen.cluster.Server
	switch {
	case !isServer(server):
		errs = append(errs, c.problem("config_paths", "the server of the cluster %q in the kubeconfig %s must be a URL such as "+
			"https://cluster.example:6443", chosen.clusterName, c.files()))
	case strings.HasPrefix(server, "http://") && c.Connection.hasCredentials():
		errs = append(errs, c.problem("host", "the server %s does not use https, so the credentials would not be sent to it", server))
	}
	if chosen.cluster.ProxyURL != "" {
		errs = append(errs, c.checkProxy(chosen.cluster.ProxyURL))
	}
	return errors.Join(errs...)
}

// serverURL takes a host without a scheme for https: client-go would take it
// for http, and send no credentials.
func serverURL(host string) string {
	if strings.Contains(host, "://") {
		return host
	}
	return "https://" + host
}

func isServer(text string) bool {
	server, err := url.Parse(text)
	return err == nil && (server.Scheme == "https" || server.Scheme == "http") &&
		server.Hostname() != "" && server.User == nil && server.RawQuery == ""
}

// problem is a problem of one option.
func (c Config) problem(option, format string, args ...any) error {
	return &OptionError{Options: []string{option}, Text: c.origin(option) + ": " + fmt.Sprintf(format, args...)}
}

// contradiction is a problem of two options that are both set.
func (c Config) contradiction(first, second, why string) error {
	return &OptionError{
		Options: []string{first, second},
		Text:    fmt.Sprintf("%s and %s are both set: %s", c.origin(first), c.origin(second), why),
	}
}

// origin names where the value of an option was written.
func (c Config) origin(option string) string {
	if origin, ok := c.Origins[option]; ok {
		return origin
	}
	return option
}
