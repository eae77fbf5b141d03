package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Card is a model card as data, made of its Markdown and of the model's metadata, so that nothing
// is written twice. A field is null where the card says nothing of it.
type Card struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"` // of the file of weights
	// ModelCard: the sections of Mitchell et al. 2019, "Model Cards for Model Reporting"
	ModelCard map[string][]string `json:"modelCard"`
	// CLAIM: the headings of Tejani et al. 2024, "Checklist for Artificial Intelligence in Medical
	// Imaging (CLAIM): 2024 Update", from methods on
	CLAIM    map[string][]string `json:"claim2024"`
	Sections []Section           `json:"sections"` // of the Markdown: the first is what stands above all others
}

// Section is a part of a card.
type Section struct {
	Title  string       `json:"title"`
	Text   []string     `json:"text,omitempty"`   // paragraphs and items of lists
	Tables [][][]string `json:"tables,omitempty"` // rows of cells; the first row is the head

	limits []string // the items of lists
}

// NewCard reads a card: a title, a summary, a table of facts, and sections, of which "Limits" is
// one.
func NewCard(markdown string, m *Model) (*Card, error) {
	c := &Card{Name: m.Metadata.Name, Title: m.Metadata.Title, SHA256: m.SHA256, Sections: sections(markdown)}
	lead, limits := c.Sections[0], []string(nil)
	var results, measured []string // the sections with figures; how each was measured
	for _, s := range c.Sections[1:] {
		if s.Title == "Limits" {
			limits = s.limits
			continue
		}
		results = append(results, s.Title)
		if len(s.Text) > 0 {
			measured = append(measured, s.Title+": "+s.Text[0])
		}
	}
	if lead.Title == "" || len(lead.Tables) == 0 || limits == nil {
		return nil, errors.New(`a card begins with "# NAME" and a table of facts, and has "## Limits" with a list`)
	}
	about := &m.Metadata
	named := map[string][]string{}
	for _, row := range lead.Tables[0][1:] {
		kind := row[0]
		if !slices.Contains([]string{"network", "encoder", "terms", "held out", "recipe", "device", "trained", "by", "compared with", "structures", "raters"}, kind) {
			kind = "data" // however it is called
		}
		named[kind] = append(named[kind], strings.Join(row, ": "))
	}
	facts := func(kinds ...string) (all []string) {
		for _, kind := range kinds {
			all = append(all, named[kind]...)
		}
		return all
	}
	model := append(facts("network", "encoder"), "configuration: "+about.Configuration, "commit: "+about.Commit)
	marks := []string{fmt.Sprintf("structures: %s; %s: %s", strings.Join(about.Classes, ", "), about.Labels, strings.Join(about.Raters, ", "))}
	training := append(facts("recipe", "trained", "by", "device", "compared with"), fmt.Sprintf("seed: %d", about.Seed))
	c.ModelCard = map[string][]string{
		"modelDetails": append(slices.Clone(model), training...), "intendedUse": lead.Text, "factors": marks, "metrics": measured,
		"evaluationData": facts("held out"), "trainingData": facts("data"), "quantitativeAnalyses": results,
		"ethicalConsiderations": facts("terms"), "caveatsAndRecommendations": limits,
	}
	c.CLAIM = map[string][]string{
		"studyDesign": nil, "data": facts("data"), "referenceStandard": marks, "dataPartitions": facts("held out"), "testingData": facts("held out"),
		"model": model, "training": training, "evaluation": measured, "modelPerformance": results, "limitations": limits, "otherInformation": facts("terms"),
	}
	return c, nil
}

// CardEnding ends the name of a card as data.
const CardEnding = ".card.json"

// ReadCard reads the card of a model in a folder.
func ReadCard(folder string, e *Entry) (*Card, error) {
	data, err := ReadFile(filepath.Join(folder, e.File))
	if err != nil {
		return nil, err
	}
	m, err := (&Manifest{}).Open(e.File, data)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(folder, e.Card))
	if err != nil {
		return nil, err
	}
	c, err := NewCard(string(text), m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Card, err)
	}
	return c, nil
}

// Write writes the card as JSON.
func (c *Card) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

// sections cuts Markdown at its headings.
func sections(markdown string) []Section {
	all, open, inTable := []Section{{}}, false, false // the last text, or the last table, goes on
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		s := &all[len(all)-1]
		last := len(s.Tables) - 1
		switch text := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "# "):
			s.Title = text[2:]
		case strings.HasPrefix(line, "## "):
			all, open, inTable = append(all, Section{Title: text[3:]}), false, false
		case text == "":
			open, inTable = false, false
		case strings.HasPrefix(text, "|--"):
		case text[0] == '|' && inTable:
			s.Tables[last] = append(s.Tables[last], cells(text))
		case text[0] == '|':
			s.Tables, open, inTable = append(s.Tables, [][]string{cells(text)}), false, true
		case !open || strings.HasPrefix(line, "- "):
			s.Text, open = append(s.Text, strings.TrimPrefix(text, "- ")), true
			if strings.HasPrefix(line, "- ") {
				s.limits = append(s.limits, text[2:])
			}
		default:
			s.Text[len(s.Text)-1] += " " + text
			if n := len(s.limits); n > 0 {
				s.limits[n-1] = s.Text[len(s.Text)-1]
			}
		}
	}
	return all
}

// cells are those of a row of a table.
func cells(row string) (all []string) {
	row = strings.ReplaceAll(strings.Trim(row, "|"), `\|`, "\x00")
	for cell := range strings.SplitSeq(row, "|") {
		all = append(all, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
	}
	return all
}
