package testcluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildRevision builds the command of an earlier revision of the repository in which the test stands, and gives the path
// of its binary, which is in dir. Extra arguments go to `go build`. The revision is unpacked beside it for as long as that
// takes: a git worktree would stay behind in the repository.
func BuildRevision(revision, dir string, args ...string) (string, error) {
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	tree, err := os.MkdirTemp(dir, "revision")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tree) }()
	archive := exec.Command("git", "archive", revision)
	archive.Dir = strings.TrimSuffix(string(root), "\n")
	var said bytes.Buffer
	archive.Stderr = &said
	unpack := exec.Command("tar", "-x", "-C", tree)
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return "", err
	}
	if err := archive.Start(); err != nil {
		return "", err
	}
	out, err := unpack.CombinedOutput()
	if err := errors.Join(err, archive.Wait()); err != nil {
		return "", fmt.Errorf("unpack revision %q: %w: %s%s", revision, err, &said, out)
	}
	path := filepath.Join(dir, "tidemark-"+filepath.Base(revision))
	build := exec.Command("go", append(append([]string{"build", "-buildvcs=false"}, args...), "-o", path, "./cmd/tidemark")...)
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tidemark of revision %q: %w: %s", revision, err, out)
	}
	return path, nil
}
