package config

import (
	"fmt"

	"tidemark/internal/kafka"
)

// Kafka reads the stores, files and variables that the cluster names, and returns what internal/kafka connects with. The
// error names every one that cannot be used by the place in the configuration, with the cluster's alias, and no secret.
func (c Cluster) Kafka() (kafka.Cluster, error) {
	out := kafka.Cluster{Alias: c.Alias, Bootstrap: c.Bootstrap, ClientID: c.ClientID, Settings: c.Client.kafka()}
	var err error
	if out.TLS, out.SASL, out.Renew, err = c.Security.Open(); err != nil {
		return kafka.Cluster{}, fmt.Errorf("cluster %s: %w", c.Alias, err)
	}
	return out, nil
}
