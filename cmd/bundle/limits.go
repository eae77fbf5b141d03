package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"mrprism/weights"
)

// limitsOf reads the cards of the models that ship, in folder, and gives their limits as JSON:
// sentences by the model's name. The page prints them in a report, without a network too.
func limitsOf(folder string) (string, error) {
	all := map[string][]string{}
	for _, entry := range weights.Shipped().Models {
		card, err := os.ReadFile(filepath.Join(folder, entry.Card))
		if err != nil {
			return "", err
		}
		if all[entry.Name] = limits(string(card)); len(all[entry.Name]) == 0 {
			return "", fmt.Errorf("%s has no bullets under \"## Limits\"", entry.Card)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text), err
}

var (
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	symbols = strings.NewReplacer("**", "", "`", "")
)

// limits shortens each bullet under "## Limits" of a card to its first sentence, and those that it
// prints in bold.
func limits(card string) []string {
	_, section, _ := strings.Cut(card, "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var short []string
	for bullet := range strings.SplitSeq("\n"+strings.TrimSpace(section), "\n- ") {
		text := link.ReplaceAllString(strings.Join(strings.Fields(bullet), " "), "$1")
		var kept []string
		for i, sentence := range sentences(text) {
			if i == 0 || strings.HasPrefix(sentence, "**") {
				kept = append(kept, symbols.Replace(sentence))
			}
		}
		if text != "" {
			short = append(short, strings.Join(kept, " "))
		}
	}
	return short
}

// sentences splits a text where a sentence ends and another begins, with a capital or in bold.
func sentences(text string) []string {
	var list []string
	start := 0
	for i := 0; i+2 < len(text); i++ {
		if next := rune(text[i+2]); (text[i] == '.' || text[i] == '*') && text[i+1] == ' ' && (unicode.IsUpper(next) || next == '*') {
			list = append(list, text[start:i+1])
			start = i + 2
		}
	}
	return append(list, text[start:])
}
