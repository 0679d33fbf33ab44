package config

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"

	"tidemark/internal/config/report"
)

// entry is one key of a properties file. Line is where it begins.
type entry struct {
	line       int
	key, value string
}

func (e entry) at() report.At { return report.At{Line: e.line, Key: e.key} }

// errEscape is why a line could not be read; it holds nothing of the line, which may hold a password.
var errEscape = errors.New(`a \u is not followed by four hexadecimal digits of a character in the basic plane`)

// readEntries reads a properties file as java.util.Properties does, in the order of the lines, repeated keys included.
// Bytes are ISO-8859-1, as for MirrorMaker 2; other characters are written \uXXXX.
//
// Logical lines are put together here and each is parsed by the library on its own. That gives the line numbers which
// the library does not keep, and avoids two places where it differs from Java: a continued line with CRLF ends, and a
// continued key.
func readEntries(r *report.Report, data []byte) []entry {
	var out []entry
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	data = trimBOM(data)
	for _, l := range logicalLines(string(data)) {
		if strings.IndexAny(l.text, "=:") == 0 {
			r.Note(l.line, "a line that begins with %q has no key and no effect", l.text[:1])
			continue
		}
		p, err := loader.LoadBytes([]byte(l.text))
		if err != nil || p.Len() != 1 {
			r.Problem(report.At{Line: l.line}, errEscape.Error(), `double every backslash that is meant as one: \\`)
			continue
		}
		key := p.Keys()[0]
		value, _ := p.Get(key)
		if strings.ContainsRune(value, utf8.RuneError) {
			r.Problem(report.At{Line: l.line, Key: key}, errEscape.Error(), "use the YAML form for such characters")
			continue
		}
		if !isASCII(l.text) {
			r.Note(l.line, `%s is read as ISO-8859-1, as Java does: write other characters as \uXXXX`, key)
		}
		out = append(out, entry{l.line, key, value})
	}
	return out
}

// yamlLine is the line on which the clusters key begins a mapping or a list, as in YAML; 0 where none does. As a
// properties file the same text would give a handful of problems about aliases such as "{A:", and none of them the cause.
func yamlLine(data []byte) int {
	line := 0
	for text := range bytes.Lines(trimBOM(data)) {
		line++
		rest, ok := bytes.CutPrefix(text, []byte(propClusters+":"))
		if rest = bytes.TrimSpace(rest); ok && (len(rest) == 0 || bytes.IndexByte([]byte("{[#"), rest[0]) >= 0) {
			return line
		}
	}
	return 0
}

// logicalLine is a line with its continuations, and without the blanks in front of each.
type logicalLine struct {
	line int
	text string
}

// logicalLines cuts a file into lines that hold a key: no blank lines and comments. A line that ends in an odd number
// of backslashes goes on in the next one; a comment never does.
func logicalLines(data string) []logicalLine {
	var out []logicalLine
	data = strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\r", "\n")
	continued := false
	for i, text := range strings.Split(data, "\n") {
		text = strings.TrimLeft(text, " \t\f")
		if !continued && (text == "" || text[0] == '#' || text[0] == '!') {
			continue
		}
		more := (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
		if more {
			text = text[:len(text)-1]
		}
		if continued {
			out[len(out)-1].text += text
		} else {
			out = append(out, logicalLine{line: i + 1, text: text})
		}
		continued = more
	}
	// What is left of a file that ends in a lone backslash, or of lines with nothing but one.
	kept := out[:0]
	for _, l := range out {
		if l.text != "" {
			kept = append(kept, l)
		}
	}
	return kept
}

// trimBOM removes the mark that some Windows editors put in front of UTF-8; it would become part of the first key.
func trimBOM(data []byte) []byte {
	if len(data) >= 3 && data[0] == 0xEF && data[1] == 0xBB && data[2] == 0xBF {
		return data[3:]
	}
	return data
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
