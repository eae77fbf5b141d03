package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/output/sheet"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Variables by which a test tells a process of this program what goes wrong in it.
const (
	asProgram = "BATCH_AS_PROGRAM"
	poison    = "BATCH_POISON" // the images with this in their names kill the process
	slow      = "BATCH_SLOW"   // each image takes this long, such as 20ms
	full      = "BATCH_FULL"   // the disk has no room for masks
	short     = "BATCH_SHORT"  // tables have so many files, such as 11
)

// TestMain makes the test's binary the program if a test starts it so, because a test cannot be a
// process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	Fault = func(path string) {
		if name := os.Getenv(poison); name != "" && strings.Contains(filepath.Base(path), name) {
			fmt.Fprintln(os.Stderr, "poisoned")
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
		d, _ := time.ParseDuration(os.Getenv(slow))
		time.Sleep(d)
	}
	if n, err := strconv.Atoi(os.Getenv(short)); err == nil {
		perTable = n
	}
	if os.Getenv(full) != "" {
		disk.Fault = func(operation, path string) error {
			if operation == disk.Write && strings.Contains(filepath.ToSlash(path), "/"+masksName+"/") {
				return syscall.ENOSPC
			}
			return nil
		}
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// ended is the exit code and the output of a run; −1 if it was killed.
type ended struct {
	code           int
	stdout, stderr string
}

// process is a call that has not started.
func process(faults []string, args ...string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	c = exec.Command(os.Args[0], args...)
	c.Env = append(append(os.Environ(), asProgram+"=1"), faults...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	c.Stdout, c.Stderr = stdout, stderr
	return c, stdout, stderr
}

func call(t *testing.T, faults []string, args ...string) ended {
	t.Helper()
	c, stdout, stderr := process(faults, args...)
	err := c.Run()
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit {
		t.Fatal(err)
	}
	return ended{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// untrained writes weights whose masks mean nothing, but are not empty.
func untrained(t *testing.T, seed uint64) string {
	t.Helper()
	about := segmenttest.Raters()
	about.Seed = seed
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), about.Name+".safetensors")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

// photographs writes n generated photographs, p00.png and so on.
func photographs(t *testing.T, n int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i := range n {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, synthetic.Photograph(uint64(i+1), 60, 48)))
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("p%02d.png", i)), b.Bytes(), 0o644))
	}
	return folder
}

// filesIn has the content and the time of each file in a folder, by name. Files with temporary
// names, which a killed process leaves, do not count.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		info, err := entry.Info()
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[filepath.ToSlash(name)] = info.ModTime().String() + " " + string(data)
		return err
	}))
	return all
}

// savedMasks are the contents of the masks in a folder, by name.
func savedMasks(t *testing.T, out string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, what := range filesIn(t, filepath.Join(out, masksName)) {
		_, all[name], _ = strings.Cut(what, "\x89PNG")
	}
	return all
}

// table reads a table: a map from columns to texts for each line.
func table(t *testing.T, path string) (lines []map[string]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	all, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).ReadAll()
	require.NoError(t, err)
	for _, line := range all[1:] {
		one := map[string]string{}
		for i, column := range all[0] {
			one[column] = line[i]
		}
		lines = append(lines, one)
	}
	return lines
}

// Two workers segment thirty photographs beside a copy of one and a bad file. The masks are those
// of the program segment, to the byte. A rerun writes nothing.
func TestMasksTablesAndRerun(t *testing.T) {
	w, in := untrained(t, 1), photographs(t, 30)
	work := t.TempDir()
	out, single, program := filepath.Join(work, "out"), filepath.Join(work, "single"), filepath.Join(work, "segment.exe")
	built, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "mrprism/cmd/segment").CombinedOutput()
	require.NoError(t, err, "%s", built)
	by, err := exec.Command(program, "-weights", w, "-device", "processor", "-out", single, in).CombinedOutput()
	require.NoError(t, err, "%s", by)
	first, err := os.ReadFile(filepath.Join(in, "p00.png"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(in, "copy.png"), first, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(in, "text.png"), []byte("this is no picture"), 0o644))

	args := []string{"-weights", w, "-out", out, filepath.Join(in, "*.png")}
	got := call(t, nil, args...)
	require.Equal(t, 1, got.code, got.stderr)
	assert.Contains(t, got.stderr, "1 of 32 files failed")
	assert.Contains(t, got.stdout, "32 files: 31 segmented")
	lines := table(t, filepath.Join(out, "results.csv"))
	require.Len(t, lines, 32)
	for _, line := range lines {
		stem := strings.TrimSuffix(filepath.Base(line["image"]), ".png")
		if stem == "text" {
			assert.Contains(t, line["error"], "text.png: this is a text file")
			continue
		} else if stem == "copy" {
			stem = "p00"
		}
		want, err := os.ReadFile(filepath.Join(single, stem+"_brain.png"))
		require.NoError(t, err)
		mask, err := os.ReadFile(filepath.Join(out, masksName, line["sha256"][:3], line["sha256"]+"_brain.png"))
		require.NoError(t, err)
		assert.Equal(t, want, mask, "the mask of %s", line["image"])
		assert.NotEmpty(t, line["brain_area_px"])
	}
	assert.Len(t, savedMasks(t, out), 30, "a copy has no mask of its own")
	dead := table(t, filepath.Join(out, "dead-letters.csv"))
	require.Len(t, dead, 1)
	assert.Equal(t, "decode", dead[0]["step"])
	var s Summary
	data, err := os.ReadFile(filepath.Join(out, summaryName))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &s))
	assert.Equal(t, [3]int{32, 31, 1}, [3]int{s.Files, s.Segmented, s.Failed})

	before := filesIn(t, out)
	got = call(t, nil, args...)
	require.Equal(t, 1, got.code, got.stderr)
	assert.Equal(t, before, filesIn(t, out), "a rerun writes nothing twice")

	got = call(t, []string{short + "=11"}, append([]string{"-workers", "1"}, args...)...)
	require.Equal(t, 1, got.code, got.stderr)
	assert.NoFileExists(t, filepath.Join(out, "results.csv"))
	total := 0
	for i := range 3 {
		total += len(table(t, filepath.Join(out, fmt.Sprintf("results-%05d-of-00003.csv", i))))
	}
	assert.Equal(t, 32, total)
}

// Masks that were deleted, emptied, cut or flipped are named and made again, to the byte, and so
// are those of entries that are cut or of an earlier version. The rest stays.
func TestDamagedResults(t *testing.T) {
	w, in, out := untrained(t, 1), photographs(t, 14), filepath.Join(t.TempDir(), "out")
	args := []string{"-weights", w, "-out", out, filepath.Join(in, "*.png")}
	got := call(t, nil, args...)
	require.Zero(t, got.code, got.stderr)
	before := filesIn(t, out)
	change := func(path string, change func([]byte) []byte) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, change(data), 0o644))
	}
	flip := func(data []byte) []byte { data[len(data)/2] ^= 1; return data }
	half := func(data []byte) []byte { return data[:len(data)/2] }
	empty := func([]byte) []byte { return nil }
	files, err := filepath.Glob(filepath.Join(out, masksName, "*", "*.png"))
	require.NoError(t, err)
	require.Len(t, files, 14)
	entry := func(i int) string {
		key, _, _ := strings.Cut(filepath.Base(files[i]), "_")
		return filepath.Join(out, doneFolder, key[:3], key+".json")
	}
	require.NoError(t, os.Remove(files[0]))
	change(files[1], empty)
	change(files[2], half)
	change(files[3], flip)
	change(files[4], func(data []byte) []byte { return append(data, 0) })
	change(entry(5), half)
	change(entry(6), empty)
	earlier(t, entry(7), false)
	earlier(t, entry(8), false)
	earlier(t, entry(10), true)
	change(entry(9), func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"sha256": "`), []byte(`"sha256": "0`), 1)
	})
	change(filepath.Join(out, originName), half)

	got = call(t, nil, args...)
	require.Zero(t, got.code, got.stderr)
	assert.Equal(t, 8, strings.Count(got.stderr, "is segmented again"), got.stderr)
	assert.Contains(t, got.stderr, "an earlier version kept no sums")
	assert.Contains(t, got.stderr, "origin.json")
	for i, path := range files[:5] {
		assert.Contains(t, got.stderr, filepath.Base(path), i)
	}
	after := filesIn(t, out)
	for name, what := range before {
		if strings.HasPrefix(name, masksName) {
			_, want, _ := strings.Cut(what, "\x89PNG")
			_, found, _ := strings.Cut(after[name], "\x89PNG")
			assert.Equal(t, want, found, name)
		}
	}
	for _, i := range []int{10, 11, 12, 13} {
		name, err := filepath.Rel(out, files[i])
		require.NoError(t, err)
		assert.Equal(t, before[filepath.ToSlash(name)], after[filepath.ToSlash(name)], "it stays")
	}
	got = call(t, nil, args...)
	require.Zero(t, got.code, got.stderr)
	assert.Equal(t, after, filesIn(t, out))
	assert.NotContains(t, got.stderr, "again")
}

// earlier makes an entry one of an earlier version, or of one that kept no sums.
func earlier(t *testing.T, path string, sums bool) {
	t.Helper()
	e, err := journal.Read(path)
	require.NoError(t, err)
	before := struct {
		sheet.Record
		Masks map[string]disk.Sum `json:"masks,omitempty"`
	}{Record: e.Record()}
	if sums {
		before.Masks = map[string]disk.Sum{"brain.png": e.Files.All[0].Sum}
	}
	data, err := json.Marshal(before)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// Faults are reported before any work, and nothing is written.
func TestFaultsBeforeWork(t *testing.T) {
	w, in, work := untrained(t, 1), photographs(t, 2), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(work, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	out, all := filepath.Join(work, "out"), filepath.Join(in, "*.png")
	missing := write("missing.txt", "\ufeff"+filepath.Join(in, "p00.png")+"\n"+filepath.Join(in, "gone.png")+"\n")
	file := write("file", "no folder")
	odd := write("odd.txt", write("caf\xe9.png", ""))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "where to? give -out DIR", []string{"-weights", w, all}},
		{2, "give a pattern such as", []string{"-weights", w, "-out", out}},
		{2, "-workers 0: choose 1 to 64", []string{"-weights", w, "-out", out, "-workers", "0", all}},
		{2, "-device none: choose one of", []string{"-weights", w, "-out", out, "-device", "none", all}},
		{1, "nonesuch: there is no such file", []string{"-weights", "nonesuch", "-out", out, all}},
		{1, "*.jpg matches no file; give another pattern", []string{"-weights", w, "-out", out, filepath.Join(in, "*.jpg")}},
		{1, "line 2: " + filepath.Join(in, "gone.png") + ": no such file or directory; take the line out", []string{"-weights", w, "-out", out, "-list", missing}},
		{1, "is empty; write an image's name a line", []string{"-weights", w, "-out", out, "-list", write("empty.txt", "\n")}},
		{1, "the folder cannot be made", []string{"-weights", w, "-out", filepath.Join(file, "out"), all}},
		{1, `caf\xe9.png": the name is no UTF-8`, []string{"-weights", w, "-out", out, "-list", odd}},
		{1, "lies in the folder of the results", []string{"-weights", w, "-out", in, all}},
	} {
		got := call(t, nil, c.args...)
		assert.Equal(t, c.code, got.code, "%v: %s", c.args, got.stderr)
		assert.Contains(t, got.stderr, c.want)
		assert.Empty(t, got.stdout)
		assert.NoDirExists(t, out)
	}
	require.Zero(t, call(t, nil, "-weights", w, "-out", out, all).code)
	before := filesIn(t, out)
	other := call(t, nil, "-weights", untrained(t, 2), "-out", out, all)
	assert.Equal(t, 1, other.code)
	assert.Contains(t, other.stderr, "has results of other weights")
	assert.Equal(t, before, filesIn(t, out))
}

// A stranger's archive is unpacked where the results go: its links are refused, and what they name
// stays as it is.
func TestLinksAmongTheResults(t *testing.T) {
	b, home := batch{task: Task{Weights: untrained(t, 1), Device: "processor", Workers: 1}}, t.TempDir()
	key := strings.Repeat("a", 64)
	for _, name := range []string{"masks", "journal", "journal/busy", "journal/lock", "journal/origin.json", "journal/busy/aaa", "masks/aaa", "masks/aaa/" + key + "_brain.png"} {
		b.task.Out = t.TempDir()
		link := b.task.path(name)
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.Symlink(filepath.Join(home, "profile"), link))
		err := func() error {
			held, err := claim(b.task)
			if err != nil {
				return err
			}
			defer held.Close()
			_, err = lockOf(b.task.busy(key))
			return cmp.Or(err, b.task.write(b.task.mask(key)+"_brain.png", []byte("mask")))
		}()
		require.ErrorContains(t, err, "link", name)
		left, err := os.ReadDir(home)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}

// A full disk ends the pipeline. Nothing half-written has a final name, and with room a rerun does
// all.
func TestFullDisk(t *testing.T) {
	w, all, out := untrained(t, 1), filepath.Join(photographs(t, 3), "*.png"), filepath.Join(t.TempDir(), "out")
	got := call(t, []string{full + "=1"}, "-weights", w, "-out", out, all)
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.stderr, "no space left on device")
	assert.Contains(t, got.stderr, "what is done stays: run the command again")
	assert.Empty(t, savedMasks(t, out))
	assert.NoFileExists(t, filepath.Join(out, "results.csv"))
	got = call(t, nil, "-weights", w, "-out", out, all)
	require.Zero(t, got.code, got.stderr)
	assert.Len(t, savedMasks(t, out), 3)
}
