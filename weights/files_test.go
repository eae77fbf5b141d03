//go:build !js

package weights

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writeBytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(data); return err }
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestManifestIsCurrent requires that weights/manifest.json lists exactly the models in
// weights/shipped.
func TestManifestIsCurrent(t *testing.T) {
	built, err := BuildManifest("shipped")
	require.NoError(t, err)
	for i, e := range Shipped().Models {
		if i < len(built.Models) {
			built.Models[i].Proof = e.Proof // package segment's, whose tests compute it
		}
	}
	assert.Equal(t, string(built.JSON()), string(manifestJSON), "run: go generate ./weights")
}

func TestBuildManifest(t *testing.T) {
	folder := t.TempDir()
	data := sampleBytes(t)
	path := filepath.Join(folder, "fundus.safetensors")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	_, err := BuildManifest(folder)
	assert.ErrorContains(t, err, "no model card; write fundus.md beside it, or take that of train: the card lacks a first line")
	opened, err := Shipped().Open(path, data)
	require.NoError(t, err)
	card := []byte(opened.Metadata.Draft([][2]string{{"held out", "2"}}, "## Scores\n\nGood.\n", "Few."))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "fundus.md"), card, 0o644))
	m, err := BuildManifest(folder)
	require.NoError(t, err)
	require.Len(t, m.Models, 1)
	assert.Equal(t, Entry{Name: "fundus", File: "fundus.safetensors", Bytes: len(data), SHA256: m.Models[0].SHA256, Title: "Disc and cup",
		Configuration: "compact", Raters: 2, Classes: 2, Side: 256, Card: "fundus.md"}, m.Models[0])
	crops := sampleFile(t) // a model that does not search comes last, whatever its name
	crops.Metadata["name"], crops.Metadata["anchor"] = "crops", ""
	crops.Seal()
	other, err := crops.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "crops.safetensors"), other, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "crops.md"), card, 0o644))
	both, err := BuildManifest(folder)
	require.NoError(t, err)
	require.Len(t, both.Models, 2)
	assert.Equal(t, []string{"fundus", "crops"}, []string{both.Models[0].Name, both.Models[1].Name})

	_, err = m.OpenShipped("fundus", data)
	assert.NoError(t, err)

	require.NoError(t, os.Rename(path, filepath.Join(folder, "eye.safetensors")))
	_, err = BuildManifest(folder)
	assert.ErrorContains(t, err, "name the file after it")
}

func TestReadFileRefusesWhatIsNoFile(t *testing.T) {
	_, err := ReadFile(t.TempDir())
	assert.ErrorContains(t, err, "is a folder: name a .safetensors file in it")
	huge := filepath.Join(t.TempDir(), "huge")
	f, err := os.Create(huge)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(MaxFileBytes+1)) // sparse: takes no disk
	require.NoError(t, f.Close())
	_, err = ReadFile(huge)
	assert.ErrorContains(t, err, "MiB")
}

func TestWriteAtomic(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "last.safetensors")
	require.NoError(t, WriteAtomic(path, writeBytes([]byte("one"))))

	// A writer fails, as on a full disk: the old file stays, the temporary file goes.
	err := WriteAtomic(path, func(w io.Writer) error {
		if _, err := w.Write(bytes.Repeat([]byte("two"), 1<<20)); err != nil {
			return err
		}
		return syscall.ENOSPC
	})
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorContains(t, err, path)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "one", string(kept))
	assert.Equal(t, []string{"last.safetensors"}, names(t, folder))

	// The next success removes the temporary file of a killed program, but not that of another path.
	for _, left := range []string{".last.safetensors.123.tmp", ".last.safetensors.backup.5.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, left), nil, 0o644))
	}
	require.NoError(t, WriteAtomic(path, writeBytes([]byte("three"))))
	assert.Equal(t, []string{".last.safetensors.backup.5.tmp", "last.safetensors"}, names(t, folder))

	assert.Error(t, WriteAtomic(filepath.Join(folder, "no", "such", "folder"), writeBytes(nil)))
	assert.ErrorContains(t, WriteAtomic(os.DevNull, writeBytes(nil)), "is a device")
	// A folder is refused without a panic.
	require.NoError(t, os.Mkdir(filepath.Join(folder, "taken"), 0o755))
	assert.Error(t, WriteAtomic(filepath.Join(folder, "taken"), writeBytes(nil)))
}

// A link is refused, also one to nothing: what it names stays as it is.
func TestWriteAtomicThroughLink(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	file, link := filepath.Join(other, "profile"), filepath.Join(folder, "mask.png")
	require.NoError(t, os.Symlink(file, link))
	assert.EqualError(t, WriteAtomic(link, writeBytes([]byte("new"))), link+" is a link, and might lead to any file: remove it, or name another file")
	assert.NoFileExists(t, file)
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o644))
	assert.ErrorContains(t, WriteAtomic(link, writeBytes([]byte("new"))), "is a link")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old", string(kept))
}

// A name may be as long as the file system allows. Two long names with the same beginning have
// different temporary files, and those of killed programs are removed.
func TestStageLongNames(t *testing.T) {
	folder := t.TempDir()
	long := strings.Repeat("n", 250)
	a, err := Stage(filepath.Join(folder, long+".json"), writeBytes([]byte("a")))
	require.NoError(t, err)
	killed, err := Stage(filepath.Join(folder, long+".json"), writeBytes([]byte("a")))
	require.NoError(t, err)
	b, err := Stage(filepath.Join(folder, long+".png"), writeBytes([]byte("b")))
	require.NoError(t, err)
	require.NoError(t, a.Commit())
	assert.NoFileExists(t, killed.temporary)
	require.NoError(t, b.Commit())
	assert.Equal(t, []string{long + ".json", long + ".png"}, names(t, folder))
}

// A staged file gets its name only with Commit.
func TestStage(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "result")
	require.NoError(t, WriteAtomic(path, writeBytes([]byte("old"))))
	content := func() string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	staged, err := Stage(path, writeBytes([]byte("new")))
	require.NoError(t, err)
	assert.Equal(t, "old", content())
	staged.Discard()
	assert.Equal(t, []string{"result"}, names(t, folder))
	assert.ErrorContains(t, staged.Commit(), "what was there is unchanged")
	staged, err = Stage(path, writeBytes([]byte("new")))
	require.NoError(t, err)
	require.NoError(t, staged.Commit())
	assert.Equal(t, "new", content())
	assert.Equal(t, []string{"result"}, names(t, folder))
}

// A file system that cannot sync folders is no fault. A failing sync is one, and the new file is
// there.
func TestWriteAtomicUnsynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last")
	for _, fault := range []syscall.Errno{syscall.EINVAL, syscall.ENOTSUP, syscall.EBADF, syscall.EIO} {
		asked := false
		disk.Fault = func(operation, name string) error {
			if operation != disk.Sync || name != path {
				return nil
			}
			asked = true
			return fault
		}
		err := WriteAtomic(path, writeBytes([]byte(fault.Error())))
		disk.Fault = nil
		if fault == syscall.EIO {
			require.ErrorIs(t, err, fault)
			require.ErrorIs(t, err, ErrUnsynced)
			require.ErrorContains(t, err, path+" is written, but may not survive a power cut: ")
		} else {
			require.NoError(t, err, fault)
		}
		require.True(t, asked)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, fault.Error(), string(kept))
	}
	assert.NotErrorIs(t, WriteAtomic(filepath.Join(path, "no folder"), writeBytes(nil)), ErrUnsynced)
}

// TestWriteAtomicFullDisk limits the size of files: the kernel then refuses bytes as on a full
// disk.
func TestWriteAtomicFullDisk(t *testing.T) {
	if path := os.Getenv("MRPRISM_TEST_FULL_DISK"); path != "" {
		err := WriteAtomic(path, writeBytes(make([]byte, 1<<20)))
		if errors.Is(err, syscall.EFBIG) {
			os.Exit(7)
		}
		fmt.Println("unexpected:", err)
		os.Exit(1)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "last")
	require.NoError(t, WriteAtomic(path, writeBytes([]byte("old"))))
	c := exec.Command("sh", "-c", `ulimit -f 256; exec "$0" -test.run='^TestWriteAtomicFullDisk$'`, os.Args[0])
	c.Env = append(os.Environ(), "MRPRISM_TEST_FULL_DISK="+path)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, 7, exit.ExitCode(), string(out))
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(kept))
	assert.Equal(t, []string{"last"}, names(t, folder))
}

// TestWriteAtomicKilled kills a program at random moments while it writes. The file is always
// whole.
func TestWriteAtomicKilled(t *testing.T) {
	if path := os.Getenv("MRPRISM_TEST_KILLED"); path != "" {
		for n := uint64(1); ; n++ {
			if err := WriteAtomic(path, writeBytes(killedContent(n))); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "last")
	require.NoError(t, WriteAtomic(path, writeBytes(killedContent(0))))
	random := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		c := exec.Command(os.Args[0], "-test.run=^TestWriteAtomicKilled$")
		c.Env = append(os.Environ(), "MRPRISM_TEST_KILLED="+path)
		require.NoError(t, c.Start())
		time.Sleep(time.Duration(5+random.IntN(40)) * time.Millisecond)
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(got), 8)
		require.True(t, bytes.Equal(killedContent(binary.LittleEndian.Uint64(got)), got), "a part of a file took the name")
	}
	require.NoError(t, WriteAtomic(path, writeBytes(killedContent(0))))
	assert.Len(t, names(t, filepath.Dir(path)), 1, "leftovers go with the next success")
}

// killedContent is 64 KiB that can be recognised as whole.
func killedContent(n uint64) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, n), 8192)
}
