//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
)

// ConnectStandalone starts Kafka Connect's standalone worker with the given
// worker properties and connectors, each of which needs a name. Connectors of
// MirrorMaker 2 run in it one by one, which its dedicated mode does not offer. It
// runs when this returns, but takes some seconds before it does any work. Stop
// removes its files. Byte-array converters, a port that is free and a file for
// source offsets are set here.
func ConnectStandalone(ctx context.Context, worker map[string]string, connectors ...map[string]string) (*Process, error) {
	const heapMB = 512
	libs, err := Libs(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-connect-")
	if err != nil {
		return nil, fmt.Errorf("create Connect directory: %w", err)
	}
	props := map[string]string{
		"offset.storage.file.filename": filepath.Join(dir, "offsets"),
		"listeners":                    "http://127.0.0.1:0",
		// Without it the worker scans every jar for plugins, which takes longer than all the rest.
		"plugin.discovery": "service_load",
	}
	for _, part := range []string{"key", "value", "header"} {
		props[part+".converter"] = "org.apache.kafka.connect.converters.ByteArrayConverter"
	}
	maps.Copy(props, worker)
	args := []string{filepath.Join(dir, "worker.properties")}
	err = errors.Join(writeProps(args[0], props), writeLogging(dir))
	for i, c := range connectors {
		file := filepath.Join(dir, "connector-"+strconv.Itoa(i)+".properties")
		args = append(args, file)
		err = errors.Join(err, writeProps(file, c))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	jvm := jvmArgs{libs: libs, logging: dir, heapMB: heapMB}
	p, err := start(command{
		name: "Connect standalone",
		argv: jvm.argv("org.apache.kafka.connect.cli.ConnectStandalone", args...),
		dir:  dir,
		log:  filepath.Join(dir, "connect.log"),
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.drop = []string{dir}
	return p, nil
}
