package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/program/version"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// Origin says how a report was made. It has no date, so that the same input gives the same bytes.
type Origin struct {
	Program string   `json:"program"` // such as "evaluate compare"
	Version string   `json:"version"` // 1.2.3 of a release, 0.0.DATE of other commits
	Commit  string   `json:"commit"`
	Flags   []string `json:"flags"`             // as given, but those that say where the report goes
	Data    []Source `json:"data,omitempty"`    // each data set, with the files of the images scored
	Weights []Source `json:"weights,omitempty"` // each file of weights
	Maps    []Source `json:"maps,omitempty"`    // each folder of predictions
}

// Source is files that were read.
type Source struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	// SHA256: of a single file, or of what sha256sum prints of several, in the order of their
	// names, within the folder of the data set or of the predictions
	SHA256 string `json:"sha256"`
}

// NewOrigin is that of a program with these flags.
func NewOrigin(program string, flags ...string) *Origin {
	return &Origin{Program: program, Version: version.Number(), Commit: version.Commit(), Flags: flags}
}

// Lines say it for people; nil for nil.
func (o *Origin) Lines() (lines []string) {
	if o == nil {
		return nil
	}
	line := fmt.Sprintf("MrPrism %s, commit %s: %s", o.Version, o.Commit, o.Program)
	for _, word := range o.Flags {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) {
			word = strconv.Quote(word)
		}
		line += " " + word
	}
	lines = append(lines, line)
	for _, s := range slices.Concat(o.Data, o.Weights, o.Maps) {
		files := ""
		if s.Files > 1 {
			files = fmt.Sprintf(" (%d files)", s.Files)
		}
		lines = append(lines, fmt.Sprintf("SHA-256 of %s%s: %s", s.Name, files, s.SHA256))
	}
	return lines
}

// AddWeights adds the files of a model, as given: NAME or FILE, or several with plus signs between.
func (o *Origin) AddWeights(given string, m *weights.Model) {
	sums, names := m.Sums, strings.Split(given, "+")
	if len(sums) == 0 {
		sums, names = []string{m.SHA256}, []string{given}
	}
	for i, sum := range sums {
		if s := (Source{strings.TrimSpace(names[i]), 1, sum}); !slices.Contains(o.Weights, s) {
			o.Weights = append(o.Weights, s)
		}
	}
}

// AddData adds the files of images: pictures, marks and truths.
func (o *Origin) AddData(ctx context.Context, cases []dataset.Case, classes []string) error {
	for _, folder := range slices.Compact(statistics.Tabulate(len(cases), func(i int) string { return filepath.Dir(filepath.Dir(cases[i].Image)) })) {
		var paths []string
		name := ""
		for _, c := range cases {
			if filepath.Dir(filepath.Dir(c.Image)) == folder {
				paths, name = append(paths, c.Files(classes)...), c.Folder
			}
		}
		s, err := SumOf(ctx, name, folder, paths)
		if err != nil {
			return err
		}
		o.Data = append(o.Data, s)
	}
	return nil
}

// SumOf is the sum of files in a folder. A file that cannot be read counts by its name: whoever
// reads it reports it.
func SumOf(ctx context.Context, name, folder string, paths []string) (Source, error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	lines := make([]string, len(paths))
	err := dataset.Each(ctx, len(paths), nil, func(i int) error {
		within, err := filepath.Rel(folder, paths[i])
		if err != nil {
			within = paths[i]
		}
		sum, _ := disk.SumOfFile(paths[i])
		lines[i] = fmt.Sprintf("%s  %s\n", sum.SHA256, filepath.ToSlash(within))
		return nil
	})
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return Source{name, len(paths), hex.EncodeToString(sum[:])}, err
}
