package weights

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mrprism/internal/choice"
)

// Manifest lists the models that ship. It is built into every program, the page's included.
type Manifest struct {
	// Models that search whole images come first, then all others. Both groups are sorted by name.
	// The page offers the first model.
	Models []Entry `json:"models"`
}

// Entry is one shipped model.
type Entry struct {
	Name          string `json:"name"`
	File          string `json:"file"` // in weights/shipped, and beside the page
	Bytes         int    `json:"bytes"`
	SHA256        string `json:"sha256"`
	Title         string `json:"title"`
	Configuration string `json:"configuration"`
	Raters        int    `json:"raters"`
	Classes       int    `json:"classes"`
	Side          int    `json:"side"`            // pixels
	Card          string `json:"card"`            // the model card, Markdown, beside File
	Proof         string `json:"proof,omitempty"` // see segment.Engine.Proof
	// Served is of a model that does not ship, but that the page's server offers. Limits are those of
	// its card.
	Served bool     `json:"served,omitempty"`
	Limits []string `json:"limits,omitempty"`
}

//go:embed manifest.json
var manifestJSON []byte

// Shipped is the manifest built into this program.
var Shipped = sync.OnceValue(func() *Manifest {
	m := new(Manifest)
	if err := json.Unmarshal(manifestJSON, m); err != nil {
		panic(err) // a test compares manifest.json with what BuildManifest makes
	}
	return m
})

// JSON is the form of manifest.json.
func (m *Manifest) JSON() []byte {
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		panic(err) // strings and integers only
	}
	return append(text, '\n')
}

// Names are the names of all models.
func (m *Manifest) Names() (all []string) {
	for _, e := range m.Models {
		all = append(all, e.Name)
	}
	return all
}

// Find returns the shipped model of that name. The error lists all names.
func (m *Manifest) Find(name string) (Entry, error) {
	for _, e := range m.Models {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("weights: no model named %q ships with this program; there are: %s", name, strings.Join(m.Names(), ", "))
}

// Verify compares a shipped model's length and SHA-256 with its entry.
func (e *Entry) Verify(data []byte) error {
	if len(data) != e.Bytes {
		return fmt.Errorf("%s: %d bytes, the model has %d; it did not arrive whole, get it again", e.File, len(data), e.Bytes)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.SHA256 {
		return fmt.Errorf("%s: damaged: SHA-256 is %x…, this program was built for %.12s…; get the file again", e.File, sum[:6], e.SHA256)
	}
	return nil
}

// OpenShipped verifies the bytes of the shipped model of that name, and only then reads them.
func (m *Manifest) OpenShipped(name string, data []byte) (*Model, error) {
	e, err := m.Find(name)
	if err != nil {
		return nil, err
	}
	if err := e.Verify(data); err != nil {
		return nil, err
	}
	return m.Open(e.File, data)
}

// Embedded reads a shipped file by its name in the manifest. Package shipped sets it; it is nil in
// a program that does not import that package.
var Embedded func(file string) ([]byte, error)

// ErrUnknown is the kind of Load's errors about a name that is neither a shipped model's nor a
// file's.
var ErrUnknown = errors.New("there is no such file")

// Load opens a shipped model by name, or a file.
func Load(nameOrFile string) (*Model, error) {
	manifest := Shipped()
	if e, err := manifest.Find(nameOrFile); err == nil && Embedded != nil {
		data, err := Embedded(e.File)
		if err != nil {
			return nil, err
		}
		return manifest.OpenShipped(nameOrFile, data)
	}
	if _, err := os.Stat(nameOrFile); err != nil && !strings.HasSuffix(nameOrFile, ".safetensors") && filepath.Base(nameOrFile) == nameOrFile {
		if Embedded == nil {
			return nil, fmt.Errorf(`%s: %w, and this program has no shipped models; import _ "mrprism/weights/shipped", or name a .safetensors file`, nameOrFile, ErrUnknown)
		}
		return nil, fmt.Errorf("%s: %w%s; the shipped models are %s", nameOrFile, ErrUnknown, choice.Guess(nameOrFile, manifest.Names()), strings.Join(manifest.Names(), ", "))
	}
	data, err := ReadFile(nameOrFile)
	if err != nil {
		return nil, err
	}
	return manifest.Open(nameOrFile, data)
}
