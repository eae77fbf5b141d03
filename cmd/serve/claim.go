package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mrprism/weights/disk"
)

// claimed is a folder that only this server uses and only its user can read. It has the profile of
// the kiosk's browser, files that people save there, and the file that opens the page of -watch.
type claimed struct {
	path string
	lock io.Closer
}

// claim makes the folder of a server at an address. It removes the folders that this user's earlier
// servers have left, for example killed ones.
func claim(address string) (*claimed, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no place for private files: %w; name a folder with XDG_CACHE_HOME", err)
	}
	all := filepath.Join(cache, "mrprism", "serve")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, fmt.Errorf("no place for private files: %w; name another folder with XDG_CACHE_HOME", err)
	}
	// One server after the other: none removes a folder that another has not locked yet.
	turn, err := patiently(func() (io.Closer, error) { return disk.Lock(all) })
	if err != nil {
		return nil, fmt.Errorf("another serve holds %q: %w; end it", all, err)
	}
	defer turn.Close()
	if err := sweep(all); err != nil {
		return nil, err
	}
	c := &claimed{path: filepath.Join(all, strings.NewReplacer(":", "-", "[", "", "]", "").Replace(address))}
	if err := os.Mkdir(c.path, 0o700); err != nil {
		return nil, fmt.Errorf("no place for private files: %w", err)
	}
	c.lock, err = disk.Lock(c.path)
	return c, err
}

// sweep removes the folders that no running server holds.
func sweep(all string) error {
	entries, err := os.ReadDir(all)
	for _, e := range entries {
		path := filepath.Join(all, e.Name())
		if !e.IsDir() {
			continue
		}
		free, busy := disk.Lock(path)
		if busy != nil {
			continue
		}
		free.Close()
		err = errors.Join(err, remove(path))
	}
	return err
}

// remove removes a folder. A killed browser's processes may still write there, or make it anew, for
// a moment.
func remove(path string) error {
	_, err := patiently(func() (io.Closer, error) {
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
		sleep(context.Background(), 100*time.Millisecond)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("another program makes it anew")
		}
		return nil, nil
	})
	if err != nil {
		return fmt.Errorf("what a person left cannot be removed: %w; remove %q", err, path)
	}
	return nil
}

// patiently calls try for some seconds until it succeeds.
func patiently(try func() (io.Closer, error)) (c io.Closer, err error) {
	for end := time.Now().Add(3 * time.Second); ; sleep(context.Background(), 20*time.Millisecond) {
		if c, err = try(); err == nil || time.Now().After(end) {
			return c, err
		}
	}
}

// release removes the folder.
func (c *claimed) release() error {
	c.lock.Close()
	return remove(c.path)
}
