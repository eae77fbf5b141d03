//go:build !js

// Command release writes the manual pages and the completions of bash, zsh and fish, of what the
// programs themselves say of their flags. release.sh runs it; RELEASE.md is about releases.
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"mrprism/internal/program/cli"
	"mrprism/weights/disk"
)

//go:embed templates
var templates embed.FS

// page is a program, or a subprogram, in the templates.
type page struct {
	cli.Description
	Command       string // as a release calls it: mrprism-train
	Version, Date string
	Below         []*page // subprograms
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: release VERSION DATE OUT PROGRAM...")
		os.Exit(2)
	}
	for _, program := range os.Args[4:] {
		if err := document(os.Args[1], os.Args[2], os.Args[3], program); err != nil {
			fmt.Fprintf(os.Stderr, "release: %s: %v\n", program, err)
			os.Exit(1)
		}
	}
}

// document writes what there is about a program into folders of out.
func document(version, date, out, program string) error {
	top, err := describe(program)
	if err != nil {
		return err
	}
	for _, p := range append(top.Below, top) {
		p.Version, p.Date = version, date
		if err := write(out, filepath.Join("man", p.Page()+".1"), "man", p); err != nil {
			return err
		}
	}
	for shell, name := range map[string]string{"bash": top.Command, "zsh": "_" + top.Command, "fish": top.Command + ".fish"} {
		if err := write(out, filepath.Join("completions", shell, name), shell, top); err != nil {
			return err
		}
	}
	return nil
}

// describe asks a program, or the subprogram that words name, about itself.
func describe(program string, words ...string) (*page, error) {
	output, err := exec.Command(program, append(words, cli.Describe)...).Output()
	if err != nil {
		return nil, err
	}
	p := &page{}
	if err := json.Unmarshal(output, &p.Description); err != nil {
		return nil, err
	}
	p.Command = "mrprism-" + p.Name
	for _, name := range p.Subprograms {
		below, err := describe(program, append(words, name)...)
		if err != nil {
			return nil, err
		}
		p.Below = append(p.Below, below)
	}
	return p, nil
}

// Word is the last word of a subprogram's name.
func (p *page) Word() string { return p.Name[strings.LastIndex(p.Name, " ")+1:] }

// Page is the name of the manual page.
func (p *page) Page() string { return strings.ReplaceAll(p.Command, " ", "-") }

// Short is the program's short name, by which the texts call it.
func (p *page) Short() string { return strings.Fields(p.Name)[0] }

// Title is what stands behind the name in the first line.
func (p *page) Title() string {
	title, _, _ := strings.Cut(strings.TrimPrefix(p.Intro, p.Name+" - "), "\n")
	return title
}

// Usage is the paragraph on how to call the program.
func (p *page) Usage() string {
	_, usage, _ := strings.Cut(p.Intro, "usage: ")
	usage, _, _ = strings.Cut(usage, "\n\n")
	return strings.ReplaceAll(usage, "\n       ", "\n")
}

// About is the text after Usage.
func (p *page) About() string {
	_, text, _ := strings.Cut(p.Intro, "usage: ")
	_, text, _ = strings.Cut(text, "\n\n")
	return strings.TrimSpace(text)
}

// Ending has the examples and the exit codes.
func (p *page) Ending() string {
	return strings.TrimRight(strings.TrimPrefix(strings.TrimSpace(p.Examples), "examples:\n"), "\n")
}

// firstSentence shortens a usage for a list of completions.
func firstSentence(text string) string {
	short, _, _ := strings.Cut(text, ". ")
	short, _, _ = strings.Cut(short, ";")
	return strings.Join(strings.Fields(short), " ")
}

// roff escapes a text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return strings.NewReplacer("\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
}

// write executes the template of a name into a file of the folder out.
func write(out, path, name string, p *page) error {
	t, err := template.New(name).Funcs(template.FuncMap{
		"roff": roff, "first": firstSentence, "upper": strings.ToUpper,
		"snake": func(text string) string { return strings.ReplaceAll(text, "-", "_") },
		"zsh":   strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace,
		"fish":  strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace,
	}).ParseFS(templates, "templates/*")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.ExecuteTemplate(&text, name, p); err != nil {
		return err
	}
	return disk.WriteFile(out, path, text.Bytes())
}
