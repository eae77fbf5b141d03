package weights

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mrprism/weights/disk"
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

// NewCard reads a card, and checks it: a title, a summary, a table of facts, and sections, of which
// "Limits" is one. The error names all that is missing.
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
	about := &m.Metadata
	named := map[string][]string{}
	var table [][]string
	if len(lead.Tables) > 0 {
		table = lead.Tables[0][1:] // the first row is the head
	}
	for _, row := range table {
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
	var missing []string
	for _, part := range []struct {
		what  string
		there bool
	}{
		{`a first line "# TITLE"`, lead.Title != ""}, {"below it a paragraph, for what the model is", len(lead.Text) > 0},
		{`a table of facts with "| data | … |"`, named["data"] != nil}, {`in it "| held out | … |"`, named["held out"] != nil},
		{`in it "| terms | … |"`, named["terms"] != nil}, {`a section with figures, such as "## Scores"`, results != nil}, {`"## Limits" with a list`, limits != nil},
	} {
		if !part.there {
			missing = append(missing, part.what)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("the card lacks %s: write that", strings.Join(missing, "; "))
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

// Described is a verified model with its card.
type Described struct {
	*Model
	Data     []byte // the file
	Markdown string // the card; empty: it has none
	Card     *Card
}

// ReadDescribed reads the file of a model, and its card NAME.md beside it, if there is one. NAME is
// that of the metadata.
func ReadDescribed(path string) (*Described, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := Shipped().Open(path, data)
	if err != nil {
		return nil, err
	}
	d, card := &Described{Model: m, Data: data}, filepath.Join(filepath.Dir(path), m.Metadata.Name+".md")
	text, err := disk.ReadFile(card)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		d.Markdown = string(text)
		d.Card, err = NewCard(d.Markdown, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", card, err)
	}
	return d, nil
}

// Draft is the card of a model of which nothing is known but what its file says, and what is given:
// rows of the table of facts, sections, and limits. NewCard takes it.
func (m *Metadata) Draft(rows [][2]string, sections string, limits ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nIt marks %s in a picture (%s), as %s would.\n\n**Research use. Not a medical device.**\n\n| | |\n|---|---|\n",
		cmp.Or(m.Title, m.Name), strings.Join(m.Classes, " and "), cmp.Or(m.Task, "of which kind, nobody said"), strings.Join(m.Raters, ", "))
	facts := [][2]string{
		{"network", fmt.Sprintf("%s, images of %d²", m.Configuration, m.Side)}, {"data", cmp.Or(m.Data, "nobody said")},
		{"terms", "those of the data"}, {"structures", strings.Join(m.Classes, ", ")}, {"raters", strings.Join(m.Raters, ", ")},
	}
	for _, row := range append(facts, rows...) {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], strings.ReplaceAll(row[1], "|", `\|`))
	}
	fmt.Fprintf(&b, "\n%s\n## Limits\n\n- %s\n", sections, strings.Join(limits, "\n- "))
	return b.String()
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

// Limits are the items below "Limits", each shortened to its first sentence and those in bold.
func (c *Card) Limits() (short []string) {
	link, plain := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`), strings.NewReplacer("**", "", "`", "")
	for _, s := range c.Sections {
		if s.Title != "Limits" {
			continue
		}
		for _, item := range s.limits {
			var kept []string
			for i, sentence := range sentences(link.ReplaceAllString(item, "$1")) {
				if i == 0 || strings.HasPrefix(sentence, "**") {
					kept = append(kept, plain.Replace(sentence))
				}
			}
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
