package entry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"

	"tidemark/internal/config/report"
)

// Entry is one key of a properties file. Line is where it begins.
type Entry struct {
	Line       int
	Key, Value string
}

// At is the place of the entry in its file.
func (e Entry) At() report.At { return report.At{Line: e.Line, Key: e.Key} }

// errEscape is why a line could not be read; it holds nothing of the line, which may hold a password.
var errEscape = errors.New(`a \u is not followed by four hexadecimal digits of a character in the basic plane`)

// Read reads a properties file as java.util.Properties does, in the order of the lines, repeated keys included.
// Bytes are ISO-8859-1, as for MirrorMaker 2; other characters are written \uXXXX.
//
// Logical lines are put together here and each is parsed by the library on its own. That gives the line numbers which
// the library does not keep, and avoids two places where it differs from Java: a continued line with CRLF ends, and a
// continued key.
func Read(r *report.Report, data []byte) []Entry {
	var out []Entry
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	data = bytes.TrimPrefix(data, []byte("\uFEFF")) // some Windows editors put it in front; it would become part of the first key
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
		out = append(out, Entry{l.line, key, value})
	}
	return out
}

// Find finds a key in the text of a properties file; the last one counts. Its errors hold nothing of the text.
func Find(data []byte, key string) (value string, ok bool, err error) {
	if !utf8.Valid(data) {
		return "", false, errors.New("it is not UTF-8")
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	for _, l := range logicalLines(string(data)) {
		if strings.IndexAny(l.text, "=:") == 0 {
			continue
		}
		p, err := loader.LoadBytes([]byte(l.text))
		if err != nil || p.Len() != 1 {
			return "", false, fmt.Errorf("line %d: %w", l.line, errEscape)
		}
		if v, has := p.Get(key); has {
			value, ok = v, true
		}
	}
	return value, ok, nil
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

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
