package configfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/properties"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/resource"
	"tidemark/internal/config/yamlfile"
)

// Load reads and parses the file at path. The error is a Problems where the content is at fault.
func Load(path string) (*config.Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Examine(path, data, provider.Process()).Result()
}

// Parse turns the content of a file into a Config. The name decides the kind (.properties, .yaml, .yml; otherwise the
// content does), stands in the problems, and its folder is where relative PEM paths of a YAML file start. The error is
// a Problems with everything that is wrong. Nothing outside the file is read, so a value that refers to a configuration
// provider is a problem here; Load looks it up.
func Parse(name string, data []byte) (*config.Config, error) {
	return Examine(name, data, provider.Outside{}).Result()
}

// Examine is Parse for those who want to know everything about a file, whether it can be used or not. Values of a
// properties file that refer to a configuration provider are looked up in outside.
func Examine(name string, data []byte, outside provider.Outside) config.Examined {
	if isProperties(name, data) {
		return properties.Examine(name, data, outside)
	}
	if resource.Is(data) {
		return properties.ExamineAs("resources or connectors of MirrorMaker 2", name, data, outside, resource.Read)
	}
	return yamlfile.Examine(name, data)
}

// isProperties decides by the extension, then by what the first line that says something looks like: YAML here always
// starts with a mapping key ("clusters:"), a properties file with key=value. "clusters: A, B" is legal in both, so the
// whole file is looked at for a key that only a properties file has.
func isProperties(name string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".properties":
		return true
	case ".yaml", ".yml":
		return false
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, _, found := bytes.Cut(line, []byte("="))
		if found && !bytes.ContainsAny(key, ":{[\"'") {
			return true
		}
	}
	return false
}
