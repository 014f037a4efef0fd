package main

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd starts etcd inside this process and returns it with the address that it serves.
// What it stores is thrown away in the end, so it never waits for the disk.
func startEtcd(ctx context.Context, dir, logFile string) (*embed.Etcd, string, error) {
	free := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{logFile}
	cfg.UnsafeNoFsync = true
	cfg.ListenPeerUrls = []url.URL{free}
	cfg.ListenClientUrls = []url.URL{free}
	cfg.AdvertisePeerUrls = []url.URL{free}
	cfg.AdvertiseClientUrls = []url.URL{free}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	// The only member elects itself as soon as its own clock lets it.
	cfg.TickMs = 10
	cfg.ElectionMs = 100
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, "http://" + etcd.Clients[0].Addr().String(), nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, "", fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		etcd.Close()
		return nil, "", ctx.Err()
	}
}
