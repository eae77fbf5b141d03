package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mrprism/weights"
	"mrprism/weights/disk"

	"github.com/gofrs/flock"
)

// Names within the folder of the results.
const (
	summaryName  = "summary.json"
	masksName    = "masks"
	originName   = "journal/origin.json"
	inputsName   = "journal/inputs.jsonl"
	busyFolder   = "journal/busy"   // ABC: locked while an image whose key begins so is segmented
	doneFolder   = "journal/done"   // ABC/KEY.json: its masks are complete
	killedFolder = "journal/killed" // KEY.json: it killed two processes that had no other image
)

// Task is what all workers need to know.
type Task struct {
	Weights string // name or file
	SHA256  string // of the weights
	Device  string
	Out     string // a folder, by an absolute path
	Workers int    // workers in a process
}

// origin is what all masks in a folder have in common.
type origin struct {
	SHA256 string `json:"weights_sha256"`
	Device string `json:"device"`
}

func (t *Task) path(name string) string { return filepath.Join(t.Out, filepath.FromSlash(name)) }

// donePath is the file that says that a key's masks are complete. A folder has a 4096th of the
// keys, because each write reads its whole folder.
func (t *Task) donePath(key string) string {
	return t.path(doneFolder + "/" + key[:3] + "/" + key + ".json")
}

// mask begins the paths of a key's masks.
func (t *Task) mask(key string) string { return t.path(masksName + "/" + key[:3] + "/" + key) }

func (t *Task) busy(key string) string   { return t.path(busyFolder + "/" + key[:3]) }
func (t *Task) killed(key string) string { return t.path(killedFolder + "/" + key + ".json") }

// claim makes the folder of the results, tries to write to it and locks it. It refuses results of
// other weights or of another device: all masks in a folder must be comparable.
func claim(t Task) (io.Closer, error) {
	for _, name := range []string{busyFolder, killedFolder, doneFolder, masksName} {
		if _, err := disk.Folder(t.Out, name); err != nil {
			return nil, fmt.Errorf("-out %s: the folder cannot be made: %w; name another one", t.Out, err)
		}
	}
	lock, err := lockOf(t.path("journal/lock"))
	if err != nil {
		return nil, fmt.Errorf("-out %s: %w", t.Out, err)
	}
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("-out %s cannot be written to: %w; name another folder", t.Out, disk.Cause(err))
	case !ok:
		return nil, fmt.Errorf("-out %s: another batch works in this folder; wait for it, or name another one", t.Out)
	}
	if err := t.match(); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// match compares the task with the task of an earlier run, or records it.
func (t *Task) match() error {
	data, err := os.ReadFile(t.path(originName))
	if errors.Is(err, fs.ErrNotExist) {
		if err := t.writeJSON(t.path(originName), origin{t.SHA256, t.Device}); err != nil {
			return fmt.Errorf("-out %s cannot be written to: %w; name another folder", t.Out, err)
		}
		return nil
	}
	var before origin
	syntax := err == nil && json.Unmarshal(data, &before) != nil
	switch {
	case syntax:
		note(fmt.Sprintf("%q is cut or damaged, and written anew: each image says what made its masks", t.path(originName)))
		return t.writeJSON(t.path(originName), origin{t.SHA256, t.Device})
	case err != nil:
		return fmt.Errorf("%s: %w; name another -out", t.path(originName), disk.Cause(err))
	case before.SHA256 != t.SHA256:
		return fmt.Errorf("-out %s has results of other weights (SHA-256 %.12s…, these are %.12s…); name another folder", t.Out, before.SHA256, t.SHA256)
	case before.Device != t.Device:
		return fmt.Errorf("-out %s has results of device %s; give -device %s, or name another folder", t.Out, before.Device, before.Device)
	}
	return nil
}

// killing is a file in killedFolder.
type killing struct {
	Image string `json:"image"`
	Error string `json:"error"`
}

// killer is the outcome of a key that an earlier run has named as a killer, perhaps under another
// file's name. It is empty if none has.
func (t *Task) killer(path, key string) (o Outcome, err error) {
	data, err := os.ReadFile(t.killed(key))
	var k killing
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, nil
	case err != nil:
		return o, err
	case json.Unmarshal(data, &k) != nil:
		note(fmt.Sprintf("%q is cut or damaged: %q is tried again", t.killed(key), path))
		return o, nil
	}
	return Outcome{path, key, "alone", strings.ReplaceAll(k.Error, k.Image, path)}, nil
}

// lockOf is the lock by a file, which locking makes if it is missing.
func lockOf(path string) (*flock.Flock, error) { return flock.New(path), disk.CheckFile(path) }

// writeJSON writes a whole file of the results, or leaves the old one.
func (t *Task) writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return t.write(path, append(data, '\n'))
}

// write writes a whole file of the results and makes its folder, unless the file has this content
// already.
func (t *Task) write(path string, data []byte) error {
	if before, err := os.ReadFile(path); err == nil && string(before) == string(data) {
		return nil
	}
	if err := t.folders([]string{path}); err != nil {
		return err
	}
	return weights.WriteFile(path, data)
}

// folders makes the folders of files of the results.
func (t *Task) folders(paths []string) error {
	for _, path := range paths {
		within, err := filepath.Rel(t.Out, filepath.Dir(path))
		if err == nil {
			_, err = disk.Folder(t.Out, within)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
