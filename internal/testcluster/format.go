//go:build unix

package testcluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Files of a formatted log directory. The first one names the cluster and the
// node, the second one has the first metadata records and names neither.
const (
	metaFile      = "meta.properties"
	bootstrapFile = "bootstrap.checkpoint"
)

// newUUID draws an id in Kafka's spelling, for clusters and directories.
func newUUID() string {
	var seed [16]byte
	rand.Read(seed[:]) // it never fails
	seed[0] &= 0x3f    // a leading '-' would look like an option to the storage tool
	return base64.RawURLEncoding.EncodeToString(seed[:])
}

// format writes the cluster id, the feature levels and the SCRAM users into the
// node's empty log directory: with Kafka's storage tool where it is the first one
// on this machine with those levels and users, and with what the tool wrote then
// where it is not. The tool takes a JVM, more than a CPU second, for two files.
func (r *Real) format(ctx context.Context, n *node) error {
	args := scramArgs(r.opts)
	for _, name := range slices.Sorted(maps.Keys(r.opts.Features)) {
		args = append(args, "--feature", fmt.Sprintf("%s=%d", name, r.opts.Features[name]))
	}
	kept := filepath.Join(filepath.Dir(r.libs), fmt.Sprintf("format-%x.checkpoint", sha256.Sum256([]byte(strings.Join(args, "\n")))))
	records, err := os.ReadFile(kept)
	if err == nil {
		return r.formatted(n, records)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read first metadata records: %w", err)
	}
	jvm := jvmArgs{libs: r.libs, logging: r.dir, heapMB: 128}
	argv := jvm.argv("kafka.tools.StorageTool", append([]string{"format", "-t", r.id, "-c", n.propsFile()}, args...)...)
	if _, err := runCommand(ctx, argv, ""); err != nil {
		return fmt.Errorf("format broker %d: %w", r.NodeID(n.index), err)
	}
	if records, err = os.ReadFile(filepath.Join(n.dataDir(), bootstrapFile)); err != nil {
		return fmt.Errorf("format broker %d: %w", r.NodeID(n.index), err)
	}
	return keep(kept, records)
}

// keep writes a file of the cache by one rename: several test binaries may be at it.
func keep(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return fmt.Errorf("keep first metadata records: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep first metadata records: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// formatted writes what the storage tool would write for a node.
func (r *Real) formatted(n *node, records []byte) error {
	if err := os.MkdirAll(n.dataDir(), 0o755); err != nil {
		return fmt.Errorf("create log directory: %w", err)
	}
	meta := map[string]string{
		"version": "1", "cluster.id": r.id, "node.id": strconv.Itoa(int(r.NodeID(n.index))), "directory.id": newUUID(),
	}
	if err := writeProps(filepath.Join(n.dataDir(), metaFile), meta); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.dataDir(), bootstrapFile), records, 0o600); err != nil {
		return fmt.Errorf("write first metadata records: %w", err)
	}
	return nil
}

func (n *node) dataDir() string { return filepath.Join(n.dir, "data") }
