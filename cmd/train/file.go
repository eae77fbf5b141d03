package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/program/version"
	"mrprism/internal/train"
)

// configurationName is the file in the run's folder with the flags of the run.
const configurationName = "run.yaml"

// dividedKey is a line of run.yaml that is no flag: the split that divided the run's images.
const dividedKey = "divided"

// neverKept are the flags that a file of flags cannot have.
var neverKept = []string{"with", "resume", "dry-run", "version"}

// removed are flags of earlier versions that files may have. No result depended on them.
var removed = []string{"untuned", "dawn-lib", "stop-file", "folds"}

// joined are flags of earlier versions that are a part of another flag's value today.
var joined = []string{"any-orientation", "turns", "upright", "cross-entropy"}

// pair is a line of a file of flags; a list has commas between its values. wrong: it is neither a
// value nor a list of values.
type pair struct {
	key, text string
	line      int
	wrong     bool
}

// readFile takes flags from a YAML file of names and values. A list stands for values that commas
// separate. Flags of the command line override the file. readFile tells note if another commit of
// this program wrote the file, which names it as "commit".
func (d *declared) readFile(path string, note func(string)) error {
	given := d.Given()
	if given["side"] || given["epochs"] {
		given["phases"] = true // else phases of the file would override them
	}
	if given["resume"] {
		given["init"], given["names"] = true, true // the checkpoint has the weights
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() { // a run's folder
		path = filepath.Join(path, configurationName)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("-with: %w; name a YAML file of flags, or the folder of a run", err)
	}
	all, err := pairs(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if given["augment"] && slices.ContainsFunc(all, func(p pair) bool { return p.key == "augment" }) {
		for _, part := range parts(&train.Views{}) { // parts of the file's own augmentation
			given[part.name] = true
		}
	}
	seen, former := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", path, p.line, fmt.Sprintf(format, args...))
		}
		switch {
		case seen[p.key]:
			return fail("%s is there twice", p.key)
		case p.wrong:
			return fail("%s: a value or a list of values is needed", p.key)
		case p.key == "commit":
			if commit := version.Commit(); p.text != commit {
				note(fmt.Sprintf("version %[2]s of this program wrote %[1]s, and this is version %[3]s: results may differ in their last bits", path, p.text, commit))
			}
		case p.key == dividedKey:
			d.divided = p.text
		case p.key == "init" && given["resume"]:
			d.began = p.text
		case p.key == "folds" && p.text != "":
			return fail("folds are gone: passes that learned from them trusted marks too much")
		case slices.Contains(removed, p.key):
		case slices.Contains(joined, p.key):
			former[p.key] = p.text == "true" && !given[map[bool]string{true: "recipe", false: "orientation"}[p.key == "cross-entropy"]]
		case !slices.Contains(d.kept(), p.key):
			return fail("there is no %s%s", p.key, choice.Guess(p.key, d.kept()))
		case !given[p.key]:
			if p.key == "recipe" {
				d.folder = filepath.Dir(path)
			}
			if err := d.Set(p.key, p.text); err != nil {
				return fail("%s: %v", p.key, err)
			}
		}
		seen[p.key] = true
	}
	d.join(former)
	return nil
}

// join sets today's flags by those of a file of an earlier version.
func (d *declared) join(former map[string]bool) {
	if former["cross-entropy"] {
		d.recipe += byEntropy
	}
	switch {
	case former["upright"]:
		d.orientation = "upright"
	case former["any-orientation"] && former["turns"]:
		d.orientation = "any+quarters"
	case former["any-orientation"]:
		d.orientation = "any"
	case former["turns"]:
		d.orientation = "quarters"
	}
}

// kept are the names that a file of flags may have.
func (d *declared) kept() (names []string) {
	d.Each(func(_ string, f *flag.Flag) {
		if !slices.Contains(neverKept, f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}

// file is a file for -with that has the values of all flags.
func (d *declared) file() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# The flags of this run. Repeat it: train -with THIS FILE -out ANOTHER; continue it: train -with THIS FILE -resume\ncommit: %s\n", quoted(version.Commit()))
	last := ""
	d.Each(func(group string, f *flag.Flag) {
		if slices.Contains(neverKept, f.Name) {
			return
		}
		if group != last {
			fmt.Fprintf(&out, "\n# %s\n", group)
			last = group
		}
		fmt.Fprintf(&out, "%s: %s\n", f.Name, quoted(f.Value.(flag.Getter).Get()))
	})
	return out.Bytes()
}

// quoted is a value in one line of YAML: a plain word, or else JSON, which is YAML too.
func quoted(value any) string {
	text, ok := value.(string)
	if ok && plain(text) {
		return text
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // no flag has a value of another kind
	}
	return strings.TrimSuffix(line.String(), "\n")
}

// plain says whether YAML reads a text as that text without quotes.
func plain(text string) bool {
	other := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/-_.,", r))
	}
	begins := text != "" && (text[0] == '/' || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z')
	return begins && !strings.ContainsFunc(text, other) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text))
}
