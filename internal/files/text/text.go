// Package text reads the text files that people write for the programs, as editors and spreadsheets
// save them.
package text

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"mrprism/weights/disk"
)

// Read reads a text file by Decode. Its errors do not name the file.
func Read(path string) ([]byte, error) {
	data, err := disk.ReadFile(path)
	if err != nil {
		return nil, disk.Cause(err)
	}
	return Decode(data)
}

// Decode is a text in UTF-8 without a byte order mark. Its data are UTF-8 or UTF-16, with or
// without the mark.
func Decode(data []byte) ([]byte, error) {
	var unmarked encoding.Encoding = encoding.Nop
	if len(data) > 1 && data[1] == 0 { // the first character is one of ASCII
		unmarked = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	} else if len(data) > 1 && data[0] == 0 {
		unmarked = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	text, _, err := transform.Bytes(unicode.BOMOverride(unmarked.NewDecoder()), data)
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New(`it is neither UTF-8 nor UTF-16; save it as UTF-8 (spreadsheets: "CSV UTF-8")`)
	}
	return text, nil
}

// Line is a line of a table.
type Line struct {
	Number int      // in the file, from 1
	Fields []string // in composed Unicode (NFC), without spaces around them
}

// IsHead reports whether the line, the first of a table of images, names the columns.
func (l Line) IsHead() bool {
	return slices.Contains([]string{"name", "image", "file", "filename"}, strings.ToLower(l.Fields[0]))
}

// newlines has the ends of lines of all systems become those of Unix.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Table is the lines of a CSV, as Read gives it, which should have least to most fields. Commas,
// semicolons or tabs separate the fields: those by which the most lines have so many. Table leaves
// out empty lines, empty fields beyond most, what begins with #, and the line "sep=;" of
// spreadsheets.
func Table(text []byte, least, most int) (lines []Line, err error) {
	whole, best := newlines.Replace(string(text)), -1
	for _, comma := range "\t;," { // the first of those that fit alike: numbers may have commas
		some, failed := split(whole, comma, most)
		fit := 0
		for _, l := range some {
			if n := len(l.Fields); least <= n && n <= most {
				fit++
			}
		}
		if fit > best {
			best, lines, err = fit, some, failed
		}
	}
	return lines, err
}

func split(text string, comma rune, most int) (lines []Line, err error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.Comma, r.Comment = -1, comma, '#'
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return lines, nil
		} else if err != nil {
			return lines, err
		}
		number, _ := r.FieldPos(0)
		for i, f := range fields {
			fields[i] = Composed(strings.TrimSpace(f))
		}
		for len(fields) > most && fields[len(fields)-1] == "" {
			fields = fields[:len(fields)-1]
		}
		if strings.Join(fields, "") != "" && !(number == 1 && strings.HasPrefix(fields[0], "sep=")) {
			lines = append(lines, Line{number, fields})
		}
	}
}
