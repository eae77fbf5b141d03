package site

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How messages of the programs reach the page: %s is the message.
const (
	damagedFile = "x.png: this TIFF is damaged: %s."
	unread      = "x.png: MrPrism does not read this kind of TIFF (%s)."
	brokenFile  = "x: not a valid safetensors file (Rule): %s."
	ofFile      = "x.png: %s."
	sentence    = "%S." // with a capital letter
	asItIs      = "%s"
)

// programs are the sources of these messages, and what becomes of errors that they make.
var programs = []struct {
	files []string
	forms []string
}{
	{[]string{"internal/files/imageio", "internal/files/dicom", "internal/files/tiff", "internal/files/nifti", "internal/files/codec"},
		[]string{damagedFile, sentence}},
	{[]string{"internal/page", "internal/segment", "internal/output/masks", "internal/files/series", "wasm/segmenter", "model/errors.go"}, []string{sentence, asItIs}},
	{[]string{"model/config.go", "model/method.go", "model/precision.go"}, []string{ofFile, sentence}},
	{[]string{"weights/header.go", "weights/safetensors.go", "weights/metadata.go", "weights/verify.go", "weights/match.go", "weights/trust.go", "weights/certificate.go",
		"weights/dtype.go"}, []string{ofFile, sentence}},
	{[]string{"weights/quantize.go"}, []string{"Weights X: %s."}},
	{[]string{"weights/manifest.go"}, []string{"The model was refused: %s.", sentence}},
}

// formsOf are those of what stands in a call or a field.
var formsOf = map[string][]string{
	"damaged": {damagedFile}, "Unsupported": {unread}, "Problem": {ofFile}, "tooLarge": {ofFile}, "wrong": {ofFile, sentence}, "Advice": {sentence},
	"Message": {asItIs}, "Next": {asItIs}, "Fault": {asItIs},
	"broken": {brokenFile}, "malformed": {brokenFile}, "fault": {"x: weights: metadata: recipe is empty; %s."},
}

// unshown are texts that the page does not show in English, and why.
var unshown = map[string]*regexp.Regexp{
	"kinds of errors, for programs":     regexp.MustCompile(`^(not an image|image too large|damaged image|unsupported image|not a mark|not enough pixel data)$`),
	"a name for errors":                 regexp.MustCompile(`^the mask$`),
	"who writes weights":                regexp.MustCompile(`can be written$|has the (shape|unknown element type)|is used twice or reserved$|is not UTF-8$|already quantized|that f16 can hold$`),
	"nifti.Read, which imports sets":    regexp.MustCompile(`no NIfTI file$|more than 3 axes|its %d values are too many|its value %d is|^its affine %v has|^a (voxel|pixel) along (its )?axis|^it is moved by|^%q is no affine`),
	"tiff.Values, which reads maps":     regexp.MustCompile(`save one map a file$|pixels are too many|^numbers in colours`),
	"names of models":                   regexp.MustCompile(`^mean of %d models|your own weights|weights of this server`),
	"files, which are English":          regexp.MustCompile(`corrected by hand$|^(mask|guess|as the experts) of|^at least %d of|^(DCM|SCT|UCUM|RFC5646) |research use$|^MrPrism: masks|^For research use|^Ranges are over|^Eye: |^Corrected by hand| is left out| Certified on `),
	"weights.Load, which reads paths":   regexp.MustCompile(`^no usable weights file$|^there is no such file$|this program has no shipped models|the shipped models are %s$`),
	"for programs: what a format holds": regexp.MustCompile(`^(probability|probabilities|masks|outlines|figures|the picture with outlines)\b|^-format dicom-sr: `),
	"dicom.Names, for serve":            regexp.MustCompile(`^it is no DICOM file$|valid SOP Instance UID \(0008,0018\), or Study`),
}

// native are files of these folders that read paths or open devices for programs: the page does
// neither.
var native = []string{"internal/files/imageio/file.go", "internal/segment/session.go", "internal/segment/shared.go"}

// TestEveryMessageHasItsGerman looks at what the programs may say. Messages of other libraries and
// of devices stay English, in German around them.
func TestEveryMessageHasItsGerman(t *testing.T) {
	g, n := readGerman(t), 0
	excused := map[string]bool{}
	for _, p := range programs {
		for _, file := range p.files {
			for _, path := range sourcesOf(t, filepath.Join("..", file)) {
				if slices.Contains(native, filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))) {
					continue
				}
				for _, m := range messagesIn(t, path) {
					if why := excuse(m.text); why != "" {
						excused[why] = true
						continue
					}
					n++
					forms := p.forms
					if of := formsOf[m.in]; of != nil {
						forms = of
					} else if !m.error {
						forms = []string{asItIs, ofFile, sentence, "7 %s: X"}
					}
					translated := slices.ContainsFunc(forms, func(form string) bool { return !g.english(shown(form, m.text)) })
					assert.True(t, translated, "%s: %q has no German in site/words/de.programs.json", m.at, shown(forms[0], m.text))
				}
			}
		}
	}
	assert.Greater(t, n, 200, "messages")
	assert.Len(t, excused, len(unshown), "reasons that are still needed")
	for _, text := range []string{"nothing of this is there", shown(damagedFile, "it has no such part"), shown(formsOf["broken"][0], "it has no such part")} {
		assert.True(t, g.english(text), text)
	}
	t.Logf("%d messages", n)
}

// excuse says why a text needs no German, if it needs none.
func excuse(text string) string {
	for why, texts := range unshown {
		if texts.MatchString(text) {
			return why
		}
	}
	return ""
}

// sourcesOf are the files of a folder that are built for the page, or the file itself.
func sourcesOf(t *testing.T, path string) (files []string) {
	if strings.HasSuffix(path, ".go") {
		return []string{path}
	}
	page := build.Default
	page.GOOS, page.GOARCH = "js", "wasm"
	all, err := filepath.Glob(filepath.Join(path, "*.go"))
	require.NoError(t, err)
	for _, file := range all {
		if is, err := page.MatchFile(path, filepath.Base(file)); is && err == nil && !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
	}
	require.NotEmpty(t, files, path)
	return files
}

// message is a text in a source: a format, with verbs in its places.
type message struct {
	text, at, in string // in is the call, the field or the type that it stands in
	error        bool   // of errors.New or fmt.Errorf
}

// messagesIn finds each text of an error, and every other that is of several words.
func messagesIn(t *testing.T, path string) (all []message) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var around []ast.Node
	ast.Inspect(tree, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return false
		}
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if nameOf(n.Fun) == "panic" {
				return false
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if text, is := textOf(e); is {
				m := message{text: text, at: strings.TrimPrefix(files.Position(n.Pos()).String(), "../"), in: inWhat(around)}
				m.error = m.in == "New" || m.in == "Errorf"
				if english.MatchString(verb.ReplaceAllString(text, "X")) {
					all = append(all, m)
				}
				return false
			}
		}
		around = append(around, n)
		return true
	})
	return all
}

// inWhat is the name of the next call, field or type around a text that says what it is for.
func inWhat(around []ast.Node) string {
	for _, n := range slices.Backward(around) {
		switch n := n.(type) {
		case *ast.CallExpr:
			return nameOf(n.Fun)
		case *ast.CompositeLit:
			return nameOf(n.Type)
		case *ast.KeyValueExpr:
			if name := nameOf(n.Key); name != "" {
				return name
			}
		}
	}
	return ""
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// textOf is a literal, a sum with one, or the format of fmt.Sprintf.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		a, isA := textOf(e.X)
		b, isB := textOf(e.Y)
		if e.Op == token.ADD && (isA || isB) {
			return a + b, true
		}
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" {
			return textOf(e.Args[0])
		}
	}
	return "%s", false
}

var (
	verb    = regexp.MustCompile(`%[-+# 0]*[\d.]*[a-zA-Z]`)
	english = regexp.MustCompile(`\b[a-z]{2,}[,;:]? (.* )?[a-z]{2,}\b`)
)

// shown is a message in its form, with something in its places.
func shown(form, text string) string {
	text = verb.ReplaceAllStringFunc(text, func(v string) string {
		if strings.HasSuffix(v, "d") {
			return "7"
		}
		return "X"
	})
	first := []rune(text)
	first[0] = unicode.ToUpper(first[0])
	return strings.NewReplacer("%s", text, "%S", string(first)).Replace(form)
}

// german is what words.js knows, and finds texts as it does: by themselves, or by the pattern that
// says most.
type german struct {
	whole    map[string]bool
	patterns []*regexp.Regexp
}

func readGerman(t *testing.T) german {
	g := german{whole: map[string]bool{}}
	for text, translated := range readTexts(t, "de.json", "de.programs.json") {
		if translated, ok := translated.(string); ok {
			assert.ElementsMatch(t, slices.Compact(slices.Sorted(slices.Values(place.FindAllString(text, -1)))), slices.Compact(slices.Sorted(slices.Values(place.FindAllString(translated, -1)))), "places of %q", text)
		}
		g.whole[text] = true
	}
	const least = 11 // LEAST
	plain := func(key string) int { return len([]rune(place.ReplaceAllString(key, ""))) }
	var keys []string
	for key := range g.whole {
		if place.MatchString(key) && plain(key) >= least {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return plain(b) - plain(a) })
	for _, key := range keys {
		parts := place.Split(key, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		g.patterns = append(g.patterns, regexp.MustCompile(`(?s)^`+strings.Join(parts, "(.+?)")+`$`))
	}
	return g
}

var place = regexp.MustCompile(`\{\w+\}`)

// readTexts are the texts of files in words, each a string, or an object of its plural forms.
func readTexts(t *testing.T, names ...string) map[string]any {
	t.Helper()
	texts := map[string]any{}
	for _, name := range names {
		content, err := os.ReadFile("words/" + name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(content, &texts), name)
	}
	return texts
}

// english reports whether a text, or a part of it, stays English.
func (g german) english(text string) bool {
	if g.whole[text] {
		return false
	}
	for _, pattern := range g.patterns {
		if values := pattern.FindStringSubmatch(text); values != nil {
			return slices.ContainsFunc(values[1:], g.valueIsEnglish)
		}
	}
	return english.MatchString(text)
}

func (g german) valueIsEnglish(text string) bool {
	parts := strings.Split(text, "; ")
	return g.english(text) && (len(parts) == 1 || slices.ContainsFunc(parts, g.english))
}
