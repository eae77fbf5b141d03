package programtest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

// Orthanc is a DICOM archive of this machine, Orthanc with its plug-in for DICOMweb.
type Orthanc struct {
	Address string // http://127.0.0.1:PORT; DICOMweb is at /dicom-web
	t       *testing.T
	config  string
	process *exec.Cmd
}

// NewOrthanc starts an Orthanc until the test ends. With users it knows their passwords, and nobody
// else may read or send. Without Orthanc the test is skipped, but not on Debian as root.
func NewOrthanc(t *testing.T, users map[string]string) *Orthanc {
	t.Helper()
	const plugin = "/usr/share/orthanc/plugins/libOrthancDicomWeb.so"
	for _, file := range []string{"/usr/sbin/Orthanc", plugin, "/usr/bin/img2dcm"} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if _, err := os.Stat("/etc/debian_version"); err == nil && os.Getuid() == 0 {
			t.Fatalf("%s is missing: run make setup", file)
		}
		t.Skipf("%s is missing", file)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port, folder := free.Addr().(*net.TCPAddr).Port, t.TempDir()
	free.Close()
	if users == nil {
		users = map[string]string{} // Orthanc takes no null
	}
	text, err := json.Marshal(map[string]any{
		"StorageDirectory": folder, "IndexDirectory": folder, "HttpPort": port, "DicomServerEnabled": false, "RemoteAccessAllowed": false,
		"AuthenticationEnabled": len(users) > 0, "RegisteredUsers": users, "Plugins": []string{plugin},
	})
	require.NoError(t, err)
	o := &Orthanc{Address: fmt.Sprintf("http://127.0.0.1:%d", port), t: t, config: filepath.Join(folder, "config.json")}
	require.NoError(t, weights.WriteFile(o.config, text))
	t.Cleanup(o.Kill)
	o.Start()
	return o
}

// Start starts it again.
func (o *Orthanc) Start() {
	o.process = exec.Command("/usr/sbin/Orthanc", o.config)
	require.NoError(o.t, o.process.Start())
	require.Eventually(o.t, func() bool {
		answer, err := http.Get(o.Address + "/system")
		return err == nil && answer.Body.Close() == nil
	}, time.Minute, 100*time.Millisecond)
}

// Kill ends it at once.
func (o *Orthanc) Kill() {
	o.process.Process.Kill()
	o.process.Wait()
}
