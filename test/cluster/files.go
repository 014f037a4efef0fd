package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// files are the paths of what the components read.
type files struct {
	caCert, caKey         string
	serverCert, serverKey string
	accountKey            string // signs the tokens of service accounts
	kubeconfig            string // of the administrator
	schedulerConfig       string
}

// writeFiles writes certificates and configuration for a cluster served at the URL into dir.
func writeFiles(dir, serverURL string) (files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return files{}, err
	}
	authority, err := newAuthority()
	if err != nil {
		return files{}, fmt.Errorf("make certificates: %w", err)
	}
	server, err := authority.newServer()
	if err != nil {
		return files{}, fmt.Errorf("make certificates: %w", err)
	}
	admin, err := authority.newClient("admin", "system:masters")
	if err != nil {
		return files{}, fmt.Errorf("make certificates: %w", err)
	}
	_, accountKey, err := newKey()
	if err != nil {
		return files{}, fmt.Errorf("make certificates: %w", err)
	}
	kubeconfig, err := newKubeconfig(serverURL, authority, admin)
	if err != nil {
		return files{}, fmt.Errorf("make the kubeconfig: %w", err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	f := files{
		caCert: at("ca.crt"), caKey: at("ca.key"),
		serverCert: at("server.crt"), serverKey: at("server.key"),
		accountKey: at("service-account.key"),
		kubeconfig: at("admin.kubeconfig"), schedulerConfig: at("scheduler.yaml"),
	}
	for path, data := range map[string][]byte{
		f.caCert: authority.certPEM, f.caKey: authority.privPEM,
		f.serverCert: server.certPEM, f.serverKey: server.privPEM,
		f.accountKey: accountKey,
		f.kubeconfig: kubeconfig, f.schedulerConfig: schedulerConfig(f.kubeconfig),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return files{}, err
		}
	}
	return f, nil
}

// newKubeconfig returns a kubeconfig that holds its certificates, so that it can be copied.
func newKubeconfig(serverURL string, authority, user keyPair) ([]byte, error) {
	const name = "cluster"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: serverURL, CertificateAuthorityData: authority.certPEM}
	config.AuthInfos["admin"] = &api.AuthInfo{ClientCertificateData: user.certPEM, ClientKeyData: user.privPEM}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: "admin"}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// publish copies a file to where others wait for it: they see all of it or nothing.
func publish(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(to), ".kubeconfig-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // gone already when all went well
	if _, err := temp.Write(data); err != nil {
		_ = temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), to)
}
