package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mrprism/internal/program/version"
)

// configurationName is the file in the run's folder with the flags of the run.
const configurationName = "run.yaml"

// dividedKey is a line of run.yaml that is no flag: the split that divided the run's images.
const dividedKey = "divided"

// neverKept are the flags that a file of flags cannot have.
var neverKept = []string{"with", "resume", "dry-run", "version"}

// removed are flags of earlier versions that files may have. No result depended on them.
var removed = []string{"untuned"}

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
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(document.Content) == 0 {
		return nil
	}
	pairs := document.Content[0]
	if pairs.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: give lines such as \"rate: 0.001\"", path)
	}
	seen := map[string]bool{}
	for i := 0; i < len(pairs.Content); i += 2 {
		key, value := pairs.Content[i], pairs.Content[i+1]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", path, key.Line, fmt.Sprintf(format, args...))
		}
		text, ok := scalars(value)
		switch {
		case seen[key.Value]:
			return fail("%s is there twice", key.Value)
		case !ok:
			return fail("%s: a value or a list of values is needed", key.Value)
		case key.Value == "commit":
			if commit := version.Commit(); text != commit {
				note(fmt.Sprintf("version %[2]s of this program wrote %[1]s, and this is version %[3]s: results may differ in their last bits", path, text, commit))
			}
		case key.Value == dividedKey:
			d.divided = text
		case key.Value == "init" && given["resume"]:
			d.began = text
		case slices.Contains(removed, key.Value):
		case d.Lookup(key.Value) == nil || slices.Contains(neverKept, key.Value):
			return fail("there is no %s; the nearest is %s", key.Value, d.nearest(key.Value))
		case !given[key.Value]:
			if err := d.Set(key.Value, text); err != nil {
				return fail("%s: %v", key.Value, err)
			}
		}
		seen[key.Value] = true
	}
	return nil
}

// scalars is the text of one value, or of a list with commas between its values.
func scalars(n *yaml.Node) (text string, ok bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "", true
		}
		return n.Value, true
	case yaml.SequenceNode:
		var parts []string
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return "", false
			}
			parts = append(parts, c.Value)
		}
		return strings.Join(parts, ","), true
	}
	return "", false
}

// nearest is the flag whose name needs the fewest changes.
func (d *declared) nearest(name string) (nearest string) {
	fewest := -1
	d.Each(func(_ string, f *flag.Flag) {
		if n := changes(name, f.Name); (fewest < 0 || n < fewest) && !slices.Contains(neverKept, f.Name) {
			nearest, fewest = f.Name, n
		}
	})
	return nearest
}

// changes is the number of letters to insert, delete or replace to turn a into b (Wagner and
// Fischer, 1974).
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
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

// quoted is a value in one line of YAML.
func quoted(value any) string {
	node := yaml.Node{}
	if err := node.Encode(value); err != nil {
		panic(err) // no flag has a value of another kind
	}
	if text, ok := value.(string); ok && strings.Contains(text, "\n") {
		node.Style = yaml.DoubleQuotedStyle
	}
	line, err := yaml.Marshal(&node)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(string(line), "\n")
}
