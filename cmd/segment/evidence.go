package main

import (
	"fmt"
	"slices"
	"strings"

	"mrprism/internal/command/journal"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// parseMark reads what stands after -evidence. Until resolve, Rater may have a class in it.
func parseMark(text string) (journal.Mark, error) {
	rater, file, ok := strings.Cut(text, "=")
	if !ok || rater == "" || file == "" {
		return journal.Mark{}, fmt.Errorf("give RATER=FILE, or RATER/CLASS=FILE for a model of several classes")
	}
	return journal.Mark{Rater: rater, File: file}, nil
}

// resolve returns the marks with raters and classes of the model, for a number of images.
func resolve(all []journal.Mark, about *weights.Metadata, images int) ([]journal.Mark, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if !segment.SettlesAround(about) {
		return nil, fmt.Errorf("-evidence: model %s takes no marks; leave -evidence out, or name weights whose configuration ends in -evidence", about.Name)
	}
	if images > 1 {
		return nil, fmt.Errorf("-evidence belongs to one photograph, and %d are named; segment them one by one", images)
	}
	raters := segment.Markers(about)
	out := slices.Clone(all)
	for i := range out {
		m, said := &out[i], fmt.Sprintf("-evidence %s=%s", all[i].Rater, all[i].File)
		if at := strings.LastIndex(m.Rater, "/"); at >= 0 && !slices.Contains(raters, m.Rater) {
			m.Rater, m.Class = m.Rater[:at], m.Rater[at+1:]
		}
		if m.Class == "" && len(about.Classes) == 1 {
			m.Class = about.Classes[0]
		}
		same := func(other journal.Mark) bool { return other.Rater == m.Rater && other.Class == m.Class }
		switch {
		case !slices.Contains(raters, m.Rater):
			return nil, fmt.Errorf("%s: model %s has no rater %q; choose one of %s", said, about.Name, m.Rater, strings.Join(raters, ", "))
		case m.Class == "":
			return nil, fmt.Errorf("%s: which class? Give %s/CLASS=%s with one of %s", said, m.Rater, m.File, strings.Join(about.Classes, ", "))
		case !slices.Contains(about.Classes, m.Class):
			return nil, fmt.Errorf("%s: model %s has no class %q; choose one of %s", said, about.Name, m.Class, strings.Join(about.Classes, ", "))
		case m.Rater != segment.Somebody && slices.ContainsFunc(out[:i], same):
			return nil, fmt.Errorf("%s: %s is given twice for %s; put all that %s says into one file", said, m.Rater, m.Class, m.Rater)
		}
	}
	return out, nil
}

// evidence reads the marks for an image.
func evidence(all []journal.Mark, img *imageio.Image) (out []segment.Evidence, err error) {
	for _, m := range all {
		data, err := disk.ReadFile(m.File)
		if err != nil {
			return nil, fmt.Errorf("-evidence: %s: %w; name a PNG of a mark", m.File, disk.Cause(err))
		}
		given, err := segment.MarkFile{Rater: m.Rater, Class: m.Class, Name: m.File, PNG: data}.Evidence(img)
		if err != nil {
			return nil, fmt.Errorf("-evidence: %w", err)
		}
		out = append(out, given)
	}
	return out, nil
}
