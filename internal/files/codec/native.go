//go:build !js

package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"mrprism/internal/files/dicom/elements"
	"mrprism/internal/files/raster"
)

// Limits of a program that decodes. Windows and macOS limit only the time; there, the size in the
// header limits the memory.
var (
	longest     = time.Minute
	mostMemory  = 2 << 20 // KiB of addresses
	mostWritten = 1 << 20 // blocks of 512 or 1024 bytes
)

func init() { Use(programs{}) }

// programs decodes with programs that the user installed.
type programs struct{}

// tool is a program, and the name of its package on each system.
type tool struct{ program, debian, brew, site string }

func (k Kind) tool() tool {
	if k == JPEGLS {
		return tool{"dcmdjpls", "dcmtk", "dcmtk", "DCMTK"}
	}
	return tool{"opj_decompress", "libopenjp2-tools", "openjpeg", "OpenJPEG 2.5 or later"}
}

// find is the program's path. LookPath returns an error for a program in the working directory,
// where a stranger may have put it beside images.
func (t tool) find() (string, error) {
	path, err := exec.LookPath(t.program)
	if err == nil && !filepath.IsAbs(path) {
		err = exec.ErrDot
	}
	return path, err
}

// Missing implements Platform.
func (programs) Missing(k Kind) error {
	t := k.tool()
	if _, err := t.find(); err == nil {
		return nil
	}
	how := map[string]string{"linux": "install it, on Debian and Ubuntu with: apt-get install " + t.debian, "darwin": "install it with: brew install " + t.brew}[runtime.GOOS]
	if how == "" {
		how = "install " + t.site + " and add the folder of " + t.program + " to PATH"
	}
	return raster.Refused{Problem: fmt.Sprintf("the picture in it is %s, which MrPrism reads by the program %s", k, t.program), Advice: how}
}

// Decode implements Platform.
func (programs) Decode(k Kind, data []byte, form Form) ([]byte, bool, error) {
	folder, err := os.MkdirTemp("", "mrprism-codec-") // of mode 0700
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(folder)
	in, out, file := "in.j2k", "out.rawl", data
	arguments := []string{"-i", in, "-o", out}
	if k == JPEGLS {
		in, out, file = "in.dcm", "out.dcm", wrapped(data, form)
		arguments = []string{"+px", in, out}
	}
	if err := os.WriteFile(filepath.Join(folder, in), file, 0o600); err != nil {
		return nil, false, err
	}
	if err := run(k.tool(), folder, arguments); err != nil {
		return nil, false, err
	}
	expected := form.W * form.H * form.Components * form.size()
	written, err := os.Stat(filepath.Join(folder, out))
	if err != nil || written.Size() > int64(expected+1<<16) { // dcmdjpls writes a head
		return nil, false, fmt.Errorf("%s wrote no picture of %v", k.tool().program, form)
	}
	got, err := os.ReadFile(filepath.Join(folder, out))
	if err != nil {
		return nil, false, err
	}
	if k != JPEGLS {
		return got, true, nil
	}
	got, err = unwrapped(got)
	return got[:min(len(got), expected)], false, err
}

// run runs a program in a folder, within limits.
func run(t tool, folder string, arguments []string) error {
	path, err := t.find()
	if err != nil {
		return err
	}
	ctx, end := context.WithTimeout(context.Background(), longest)
	defer end()
	command := exec.CommandContext(ctx, path, arguments...)
	if runtime.GOOS != "windows" {
		limited := fmt.Sprintf(`ulimit -c 0; ulimit -v %d 2>/dev/null; ulimit -f %d; exec "$0" "$@"`, mostMemory, mostWritten)
		command = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", limited, path}, arguments...)...)
	}
	said := &tail{}
	command.Dir, command.Stdout, command.Stderr, command.WaitDelay = folder, said, said, time.Second
	err = command.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not end within %v", t.program, longest)
	case errors.As(err, new(*exec.ExitError)):
		return fmt.Errorf("%s refuses it: %q", t.program, said.lastLine())
	}
	return err
}

// tail keeps the end of a program's messages.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-1000):]
	return len(p), nil
}

// lastLine is the last line that is not empty.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(lines[i]), "error") || strings.HasPrefix(lines[i], "F:") || strings.HasPrefix(lines[i], "E:") {
			return lines[i]
		}
	}
	return lines[len(lines)-1]
}

// wrapped puts a JPEG-LS into a DICOM file, since dcmdjpls reads nothing else.
func wrapped(data []byte, form Form) []byte {
	const instance, class = "2.25.1", "1.2.840.10008.5.1.4.1.1.7" // secondary capture
	file := append(make(elements.Set, 128), "DICM"...)
	file.Text(0x00020002, "UI", class)
	file.Text(0x00020003, "UI", instance)
	file.Text(0x00020010, "UI", "1.2.840.10008.1.2.4.81")
	file.Text(0x00080016, "UI", class)
	file.Text(0x00080018, "UI", instance)
	photometric := "MONOCHROME2"
	if form.Components == 3 {
		photometric = "RGB"
	}
	file.Words(0x00280002, form.Components)
	file.Text(0x00280004, "CS", photometric)
	if form.Components > 1 {
		file.Words(0x00280006, 0)
	}
	for i, v := range []int{form.H, form.W, 8 * form.size(), form.Bits, form.Bits - 1, 0} {
		file.Words([]uint32{0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102, 0x00280103}[i], v)
	}
	file = append(file, pixels+"OB\x00\x00\xff\xff\xff\xff\xfe\xff\x00\xe0\x00\x00\x00\x00\xfe\xff\x00\xe0"...)
	file = append(binary.LittleEndian.AppendUint32(file, uint32(len(data)+len(data)%2)), data...)
	file = append(file, make([]byte, len(data)%2)...)
	return append(file, "\xfe\xff\xdd\xe0\x00\x00\x00\x00"...)
}

const pixels = "\xe0\x7f\x10\x00" // the tag of the pixel data

// unwrapped are the pixels of a file that dcmdjpls has made of a wrapped one: its last element.
func unwrapped(file []byte) ([]byte, error) {
	at := bytes.Index(file, []byte(pixels+"O"))
	if at < 0 || at+12 > len(file) {
		return nil, errors.New("dcmdjpls wrote no picture")
	}
	return file[at+12:], nil
}
