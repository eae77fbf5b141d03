//go:build !js

package main

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"mrprism/internal/program/cli"
)

// programs are those that the first argument can name.
var programs = cli.Subprograms{"certify": runCertify, "check": runCheck, "export": runExport, "import": runImport, "synthetic": runSynthetic}

// pairs are the lines of a YAML file.
func pairs(data []byte) (all []pair, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil || len(document.Content) == 0 {
		return nil, err
	}
	lines := document.Content[0]
	if lines.Kind != yaml.MappingNode {
		return nil, errors.New("give lines such as \"rate: 0.001\"")
	}
	for i := 0; i < len(lines.Content); i += 2 {
		text, ok := scalars(lines.Content[i+1])
		all = append(all, pair{lines.Content[i].Value, text, lines.Content[i].Line, !ok})
	}
	return all, nil
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
