package layout

import (
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"mrprism/internal/program/programtest"
)

// Words that a document may have at most, so that a stranger reads it in ten minutes.
var lengths = map[string]int{"ARCHITECTURE.md": 2200, "README.md": 900, "weights/shipped/tables/README.md": 900}

func TestDocumentsAreShort(t *testing.T) {
	texts := documents(t)
	for name, most := range lengths {
		require.Contains(t, texts, name)
		assert.LessOrEqual(t, len(strings.Fields(texts[name])), most, "words in %s", name)
	}
	for name, text := range texts {
		if within(name, "site") { // a page a task
			assert.LessOrEqual(t, len(strings.Fields(text)), 700, "words in %s", name)
		}
	}
}

// documents are the Markdown files that git knows, by their path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, root := tracked(t)
	texts := map[string]string{}
	for _, f := range files {
		if path.Ext(f) == ".md" {
			if content, err := os.ReadFile(path.Join(root, f)); err == nil { // else deleted
				texts[f] = string(content)
			}
		}
	}
	require.Greater(t, len(texts), 5)
	return texts
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```[^\n]*\n(.*?)^ *```")
	inline  = regexp.MustCompile("`([^`\n]+)`")
	linked  = regexp.MustCompile(`\]\(([^()\s]+(?:\([^()\s]*\))?)[^()]*\)|(?:src|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
)

// prose is a document without its code.
func prose(text string) string {
	return inline.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
}

// anchors are what #names of a document's headings GitHub makes.
func anchors(text string) map[string]bool {
	all, seen := map[string]bool{}, map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(match[1], "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		if n := seen[name]; n > 0 {
			all[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			all[name] = true
		}
		seen[name]++
	}
	return all
}

func TestAnchors(t *testing.T) {
	text := "# One `two`, three\n```\n# no heading\n```\n## 3.3 Fusion ⊙\n## [Link](x.md)\n## Link\n"
	assert.Equal(t, map[string]bool{"one-two-three": true, "33-fusion-": true, "link": true, "link-1": true}, anchors(text))
}

// Links to other sites are not asked for; those to our files and headings must lead somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	files, _ := tracked(t)
	known := map[string]bool{}
	for _, f := range files {
		for ; f != "."; f = path.Dir(f) {
			known[f] = true
		}
	}
	texts, links := documents(t), 0
	for name, text := range texts {
		for _, match := range linked.FindAllStringSubmatch(prose(text), -1) {
			link, err := url.Parse(match[1] + match[2])
			require.NoError(t, err, "%s links to %s", name, match[0])
			if link.Scheme != "" {
				continue
			}
			links++
			target := name
			if link.Path != "" {
				target = path.Join(path.Dir(name), link.Path)
			}
			if assert.True(t, known[target], "%s links to %s, which is not in the repository", name, link) && link.Fragment != "" {
				assert.True(t, anchors(texts[target])[link.Fragment], "%s links to %s, a heading that %s lacks", name, link, target)
			}
		}
	}
	assert.Greater(t, links, 10)
}

// A comment that cites PAPER.md §n leads to a heading of model/PAPER.md. In model and shaders every
// § is such a citation.
func TestCitationsOfThePaper(t *testing.T) {
	headings, citation := map[string]bool{}, regexp.MustCompile(`(?:§|PAPER\.md )(\d+(?:\.\d+)*)`)
	for _, match := range regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)*)[. ]`).FindAllStringSubmatch(documents(t)["model/PAPER.md"], -1) {
		headings[match[1]] = true
	}
	files, root := tracked(t)
	cited := 0
	for _, f := range files {
		if !slices.Contains([]string{".go", ".wgsl", ".js", ".py", ".md"}, path.Ext(f)) || strings.HasPrefix(f, "internal/layout/") {
			continue
		}
		content, err := os.ReadFile(path.Join(root, f))
		if err != nil {
			continue // deleted, and not yet committed
		}
		for number, line := range strings.Split(string(content), "\n") {
			if !strings.Contains(line, "PAPER.md") && !within(f, "model", "shaders") {
				continue
			}
			for _, match := range citation.FindAllStringSubmatch(line, -1) {
				cited++
				assert.True(t, headings[match[1]], "%s:%d cites §%s, a heading that model/PAPER.md lacks", f, number+1, match[1])
			}
		}
	}
	assert.Greater(t, cited, 30)
}

// subcommands are the calls, by program, that print a subcommand's help.
var subcommands = map[string][][]string{
	"train":    {{"import", "-h"}, {"certify", "-h"}, {"check", "-h"}, {"export", "-h"}, {"synthetic", "-h"}, {"synthetic", "foreign", "-h"}},
	"evaluate": {{"compare", "-h"}, {"evidence", "-h"}, {"fuse", "-h"}, {"raters", "-h"}, {"readers", "-h"}, {"plan", "-h"}},
}

// unreleased are the programs that no release has.
var unreleased = []string{"batch", "bundle"}

// programs builds all programs and lists them.
func programs(t *testing.T) []string {
	t.Helper()
	_, root := tracked(t)
	folders, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	require.NoError(t, err)
	ours := []string{}
	for _, main := range folders {
		if name := filepath.Base(filepath.Dir(main)); name != "batch" {
			ours = append(ours, "./cmd/"+name)
		}
	}
	all := []string{}
	for module, programs := range map[string][]string{".": ours, "cmd/batch": {"."}, "cmd/study": {"./evaluate"}} {
		built, err := filepath.Glob(filepath.Join(programtest.Build(t, module, programs...), "*"))
		require.NoError(t, err)
		all = append(all, built...)
	}
	return all
}

// flags are those that each program's -h all lists, subcommands' included, and how many all -h list
// but batch's.
func flags(t *testing.T, programs []string) (all map[string]map[string]bool, n int) {
	t.Helper()
	all = map[string]map[string]bool{}
	for _, program := range programs {
		name := strings.TrimSuffix(filepath.Base(program), ".exe")
		all[name] = map[string]bool{"h": true}
		for _, sub := range append(subcommands[name], []string{"-h"}) {
			help, err := exec.CommandContext(t.Context(), program, append(slices.Clone(sub), "all")...).CombinedOutput()
			require.NoError(t, err, "%s %v: %s", name, sub, help)
			for _, match := range regexp.MustCompile(`(?m)^  -([a-z][\w-]*)`).FindAllStringSubmatch(string(help), -1) {
				all[name][match[1]] = true
				if name != "batch" { // most of batch's are Beam's
					n++
				}
			}
		}
	}
	return all, n
}

// commands are the command lines in a document's code: each line of fenced and indented blocks, and
// inline code.
func commands(text string) (lines []string) {
	text = fenced.ReplaceAllStringFunc(text, func(block string) string {
		body := strings.TrimSuffix(fenced.FindStringSubmatch(block)[1], "\n")
		return "    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
	})
	text = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, " ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") {
			lines = append(lines, line)
			continue
		}
		for _, match := range inline.FindAllStringSubmatch(line, -1) {
			lines = append(lines, match[1])
		}
	}
	return lines
}

// named are the flags that a command line gives a program: what follows its name, up to a comment
// or the next command. Inline code that begins with a flag names it without a program, "".
func named(line string, programs map[string]map[string]bool) (found [][2]string) {
	line, _, _ = strings.Cut(line, " #")
	word := regexp.MustCompile(`^-([a-z][\w-]*)`)
	for _, command := range regexp.MustCompile(`&&|\|\||[;|]\s|\bdo `).Split(line, -1) {
		program := ""
		for i, field := range strings.Fields(command) {
			name := strings.TrimPrefix(field, "build/")
			if match := word.FindStringSubmatch(field); match != nil && (program != "" || i == 0) {
				found = append(found, [2]string{program, match[1]})
			}
			if programs[name] != nil && program == "" && (i == 0 || name != field) {
				program = name
			}
		}
	}
	return found
}

func TestNamedFlags(t *testing.T) {
	programs := map[string]map[string]bool{"train": {}, "export": {}}
	assert.Equal(t, [][2]string{{"train", "data"}, {"export", "mirror"}}, named("train -data DIR x-y && build/export -mirror[=false] # -no", programs))
	assert.Equal(t, [][2]string{{"train", "side"}}, named("CACHE=$(mktemp -d) taskset -c 0 build/train -side 128", programs))
	assert.Equal(t, [][2]string{{"", "clip"}}, named("-clip 1", programs))
	assert.Empty(t, named("go test ./cmd/train -run TestKill", programs))
	assert.Equal(t, []string{"    a -b  c\n", "train -x"}, commands("```sh\na -b \\\n  c\n```\nSee `train -x`.\n"))
}

func TestFlags(t *testing.T) {
	built := programs(t)
	programs, n := flags(t, built)
	keep(t, "flags", n)
	t.Run("in documents", func(t *testing.T) { inDocuments(t, programs) })
	t.Run("in manuals and completions", func(t *testing.T) { inManuals(t, built, programs) })
}

// Every flag that -h lists is in the manual pages of the program, and in the completions of each
// shell.
func inManuals(t *testing.T, built []string, programs map[string]map[string]bool) {
	built = slices.DeleteFunc(built, func(path string) bool {
		return slices.Contains(unreleased, strings.TrimSuffix(filepath.Base(path), ".exe"))
	})
	_, root := tracked(t)
	out := t.TempDir()
	c := exec.CommandContext(t.Context(), "go", append([]string{"run", "./internal/release", "1.2.3", "2026-11-24", out}, built...)...)
	c.Dir = root
	output, err := c.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, format := range []struct{ files, flag string }{
		{"man/mrprism-%s*.1", `\fB\-%s\fR`}, {"completions/bash/mrprism-%s", " -%s "}, {"completions/zsh/_mrprism-%s", " -%s["}, {"completions/fish/mrprism-%s.fish", " -o %s "},
	} {
		for _, program := range built {
			name := strings.TrimSuffix(filepath.Base(program), ".exe")
			files, err := filepath.Glob(filepath.Join(out, fmt.Sprintf(format.files, name)))
			require.NoError(t, err)
			text := ""
			for _, file := range files {
				content, err := os.ReadFile(file)
				require.NoError(t, err)
				text += strings.NewReplacer("'", " ", `\-`, "-", `\fB\-`, `\fB\-`).Replace(string(content))
			}
			for flag := range programs[name] {
				assert.True(t, flag == "h" || strings.Contains(text, fmt.Sprintf(format.flag, flag)), "%s of %s lacks -%s", format.files, name, flag)
			}
		}
	}
}

// In code, a flag that a document names with a program is in that program's -h. A flag named alone
// is in some program's -h, or is one of the go command's.
func inDocuments(t *testing.T, programs map[string]map[string]bool) {
	checked := 0
	of := map[string]map[string]bool{"": {"tags": true, "skip": true, "run": true}}
	for name, flags := range programs {
		of[name] = flags
		for flag := range flags {
			of[""][flag] = true
		}
	}
	for document, text := range documents(t) {
		for _, line := range commands(text) {
			for _, use := range named(line, programs) {
				checked++
				program, flag := use[0], use[1]
				assert.True(t, of[program][flag], "%s names -%s of %q, which its -h does not list: %s", document, flag, program, strings.TrimSpace(line))
			}
		}
	}
	assert.Greater(t, checked, 50)
}

// Pictures that documents show are small, and drawings are well-formed.
func TestPictures(t *testing.T) {
	pictures := 0
	require.NoError(t, fs.WalkDir(os.DirFS("pictures"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		pictures++
		info, err := entry.Info()
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(300<<10), name)
		if path.Ext(name) == ".svg" {
			content, err := os.ReadFile(path.Join("pictures", name))
			require.NoError(t, err)
			assert.NoError(t, xml.Unmarshal(content, new(struct{})), name)
		}
		return nil
	}))
	assert.Positive(t, pictures)
}

// Paths that documents name in code, from the root of the repository, lead somewhere. build/ and
// runs/ are made, and DEVICES.md and its kind may tell of files that are gone.
func TestPathsInDocumentsExist(t *testing.T) {
	files, root := tracked(t)
	known := map[string]bool{}
	for _, f := range files {
		for ; f != "."; f = path.Dir(f) {
			known[f] = true
		}
	}
	named, checked := regexp.MustCompile("^(?:cmd|internal|shaders|model|weights|site|wasm)/[\\w./-]+$"), 0
	for document, text := range documents(t) {
		for _, match := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if name := strings.TrimSuffix(match[1], "/"); named.MatchString(name) && !strings.Contains(name, "...") {
				checked++
				_, err := os.Stat(path.Join(root, name)) // built, as site/dist
				assert.True(t, known[name] || err == nil, "%s names %s, which is not in the repository", document, name)
			}
		}
	}
	assert.Greater(t, checked, 20)
}

// ARCHITECTURE.md says in which function things happen, as `file: function`. The file has it.
func TestFunctionsInDocumentsExist(t *testing.T) {
	text, checked := documents(t)["ARCHITECTURE.md"], 0
	_, root := tracked(t)
	for _, match := range regexp.MustCompile("`([\\w./-]+\\.(?:go|js)): (\\w+)`").FindAllStringSubmatch(text, -1) {
		checked++
		content, err := os.ReadFile(path.Join(root, match[1]))
		require.NoError(t, err, "ARCHITECTURE.md: the row of %s", match[2])
		defined := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|(?:export )?(?:async )?(?:function|const) )` + match[2] + `\b`)
		assert.True(t, defined.Match(content), "ARCHITECTURE.md says that %s has the function %s; name the file that has it now", match[1], match[2])
	}
	assert.GreaterOrEqual(t, checked, 13)
}

// CITATION.cff has what version 1.2.0 of the format requires, the licence that LICENSE has, the
// authors that LICENSE names, and as its version 0.0.DATE of the newest entry in CHANGELOG.md.
func TestCitation(t *testing.T) {
	_, root := tracked(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(data)
	}
	var c struct {
		Format                  string `yaml:"cff-version"`
		Version                 string
		Released                string `yaml:"date-released"`
		Message, Title, License string
		Authors                 []struct{ Name string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(".github/CITATION.cff")), &c))
	require.Equal(t, "1.2.0", c.Format)
	changes := read("CHANGELOG.md")
	year := regexp.MustCompile(`All dates are of (\d{4})`).FindStringSubmatch(changes)[1]
	day, err := time.Parse("2 January 2006", regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(changes)[1]+" "+year)
	require.NoError(t, err)
	require.Equal(t, []string{day.Format("0.0.20060102"), day.Format(time.DateOnly)}, []string{c.Version, c.Released})
	require.NotEmpty(t, c.Message)
	require.Equal(t, "MrPrism", c.Title)
	require.Len(t, c.Authors, 1)
	licence := read("LICENSE")
	require.True(t, strings.HasPrefix(licence, c.License+" License"))
	require.Contains(t, licence, c.Authors[0].Name)
}
