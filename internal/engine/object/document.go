package object

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

type document struct {
	number int
	line   int
	text   []byte
}

// separator is a line that ends a YAML document; content may follow it.
var separator = regexp.MustCompile(`^---(\s|$)`)

// splitDocuments cuts a stream at its "---" lines, Windows line ends included.
// Documents without content are left out but counted.
func splitDocuments(text []byte) []document {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var docs []document
	current := document{number: 1, line: 1}
	lineNumber := 0
	for line := range bytes.Lines(text) {
		lineNumber++
		if separator.Match(line) {
			docs = appendDocument(docs, current)
			number := current.number
			if hasContent(current.text) {
				number++
			}
			current = document{number: number, line: lineNumber}
			line = append([]byte("   "), line[3:]...)
			if len(bytes.TrimSpace(line)) == 0 {
				current.line++
				continue
			}
		}
		current.text = append(current.text, line...)
	}
	return appendDocument(docs, current)
}

func appendDocument(docs []document, doc document) []document {
	if !hasContent(doc.text) {
		return docs
	}
	return append(docs, doc)
}

// hasContent is false for documents of nothing but blanks, comments and
// directives.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' && !bytes.Equal(line, []byte("...")) {
			return true
		}
	}
	return false
}

var yamlLine = regexp.MustCompile(`\bline (\d+)`)

// absoluteLine turns the line numbers of a parse error, which count from the
// start of the document, into those of the file.
func absoluteLine(err error, first int) error {
	if first <= 1 {
		return err
	}
	text := yamlLine.ReplaceAllStringFunc(err.Error(), func(match string) string {
		n, convErr := strconv.Atoi(strings.TrimPrefix(match, "line "))
		if convErr != nil {
			return match
		}
		return fmt.Sprintf("line %d", n+first-1)
	})
	return errors.New(text)
}
