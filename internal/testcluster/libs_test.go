//go:build unix

package testcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestLibsFillsAnEmptyCacheOnce(t *testing.T) {
	ctx := within(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	// What a download that was cut short by an older version left behind.
	home := filepath.Join(cache, "tidemark", "kafka-"+Version())
	must(t, os.MkdirAll(filepath.Join(home, "libs"), 0o755))
	must(t, os.WriteFile(filepath.Join(home, "libs", "kafka-clients-"+Version()+".jar"), nil, 0o600))

	var g errgroup.Group
	dirs := make([]string, 2)
	for i := range dirs {
		g.Go(func() (err error) {
			dirs[i], err = Libs(ctx)
			return err
		})
	}
	must(t, g.Wait())
	if want := filepath.Join(home, "libs"); dirs[0] != want || dirs[1] != want {
		t.Errorf("got %q, want %q twice", dirs, want)
	}
	must(t, kafkaJars(Version()).verify(dirs[0]))
	entries, err := os.ReadDir(home)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "download-") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestVerifyLibsRefusesWhatIsIncomplete(t *testing.T) {
	dir := t.TempDir()
	jars := kafkaJars("1.2.3")
	jars.Artifacts = append(jars.Artifacts, Artifact{Group: "org.apache.kafka", Name: "connect-mirror", Version: "1.2.3", Classifier: "test"})
	for _, a := range jars.Artifacts {
		name := a.jar()
		if err := jars.verify(dir); err == nil || !strings.Contains(err.Error(), "incomplete") {
			t.Fatalf("before %s is there: %v", name, err)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	must(t, jars.verify(dir))
	must(t, os.Truncate(filepath.Join(dir, jars.Artifacts[1].jar()), 0))
	if err := jars.verify(dir); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("with an empty jar: %v", err)
	}
}

func TestToolsNamesTheCommandToType(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Tools(t.Context())
	if err == nil {
		t.Fatal("no error without any tool")
	}
	const want = "apt-get install -y --no-install-recommends default-jdk-headless maven kcat"
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want it to contain %q", err, want)
	}
}

func TestJavaVersion(t *testing.T) {
	for text, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`: 17,
		`java version "1.8.0_292"`:             8,
		`openjdk version "25" 2025-09-16`:      25,
	} {
		if got, err := javaVersion([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	if _, err := javaVersion([]byte("command not found")); err == nil {
		t.Error("no error without a version")
	}
}
