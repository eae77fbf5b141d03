package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mrprism/internal/command"
	"mrprism/internal/output/sheet"
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

func (t *Task) mask(key, name string) string {
	return t.path(masksName + "/" + key[:3] + "/" + key + "_" + name)
}

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

// entry is a file of the journal: the record of a key, what made its masks, and the masks' sums by
// file name.
type entry struct {
	sheet.Record
	Origin origin                 `json:"origin"`
	Masks  map[string]command.Sum `json:"masks"`
}

// errCut is the error of a file of the journal that is incomplete.
var errCut = errors.New("cut or damaged")

// entry reads a file of the journal; nil if there is none.
func (t *Task) entry(path string) (*entry, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	e := new(entry)
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("%q is %w: %w", path, errCut, err)
	}
	return e, nil
}

// recall returns the record of a key that an earlier run has done or has named as a killer, and nil
// for a new key. The masks of a key that is done have been verified. If recall does not believe an
// entry, it calls say with the reason.
func (t *Task) recall(key string, say func(error)) (*sheet.Record, error) {
	for _, path := range []string{t.donePath(key), t.killed(key)} {
		e, err := t.entry(path)
		if e != nil && path == t.donePath(key) {
			err = t.verify(key, e)
		}
		if _, failed := errors.AsType[*fs.PathError](err); failed && e == nil {
			return nil, err // an error of the journal itself
		}
		if err != nil {
			say(err)
		} else if e != nil {
			return &e.Record, nil
		}
	}
	return nil, nil
}

// verify returns an error unless the entry has all masks of the key by this task, and none has
// changed since it was written.
func (t *Task) verify(key string, e *entry) error {
	if len(e.Masks) == 0 || len(e.Masks) != len(e.Classes) {
		return command.ErrNoSum
	}
	if e.Origin != (origin{t.SHA256, t.Device}) {
		return fmt.Errorf("%q is of other weights or another device", t.donePath(key))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Masks)) {
		if err := e.Masks[name].Check(t.mask(key, name)); err != nil {
			return err
		}
	}
	return nil
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
	within, err := filepath.Rel(t.Out, filepath.Dir(path))
	if err == nil {
		_, err = disk.Folder(t.Out, within)
	}
	if err != nil {
		return err
	}
	return command.WriteFile(path, data)
}
