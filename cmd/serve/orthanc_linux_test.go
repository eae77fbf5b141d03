package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"image/jpeg"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
	"mrprism/internal/program/programtest"
)

const studies = "1.2.826.0.1.3680043.8.498." // UIDs of the test's studies begin so

// orthanc is an Orthanc behind TLS and a token.
type orthanc struct {
	*programtest.Orthanc
	t     *testing.T
	proxy *httptest.Server
	ends  atomic.Int32 // so many requests later Orthanc is killed; 0: never
}

func newOrthanc(t *testing.T) *orthanc {
	o := &orthanc{Orthanc: programtest.NewOrthanc(t, map[string]string{"serve": "password"}), t: t}
	at, err := url.Parse(o.Address)
	require.NoError(t, err)
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.SetBasicAuth("serve", "password")
	}}
	o.proxy = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		if o.ends.Load() > 0 && o.ends.Add(-1) == 0 {
			time.AfterFunc(5*time.Millisecond, o.Kill) // it has a part of the request, perhaps
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(o.proxy.Close)
	return o
}

// get reads an answer of Orthanc's own interface.
func (o *orthanc) get(path string, into any) error {
	r, err := http.NewRequest(http.MethodGet, o.Address+"/"+path, nil)
	if err != nil {
		return err
	}
	r.SetBasicAuth("serve", "password")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || into == nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

// holds are the SOP Instance UIDs of each study, with the patient's ID before them.
func (o *orthanc) holds() map[string][]string {
	var instances []struct {
		Tags struct{ PatientID, StudyInstanceUID, SOPInstanceUID, Modality string } `json:"MainDicomTags"`
		ID   string
	}
	require.NoError(o.t, o.get("instances?expand", &instances))
	all := map[string][]string{}
	for _, one := range instances {
		var tags struct{ PatientID, StudyInstanceUID, SOPInstanceUID, Modality string }
		require.NoError(o.t, o.get("instances/"+one.ID+"/simplified-tags", &tags))
		all[tags.StudyInstanceUID] = append(all[tags.StudyInstanceUID], strings.Join([]string{tags.Modality, tags.PatientID, tags.SOPInstanceUID}, " "))
	}
	return all
}

// segmented is a DICOM SEG by our own code of a photograph that img2dcm wrapped, in study n.
func segmented(t *testing.T, photograph string, n int) (seg []byte, holds string) {
	path := filepath.Join(t.TempDir(), "photograph.dcm")
	out, err := exec.Command("img2dcm", photograph, path, "-k", fmt.Sprint("StudyInstanceUID=", studies, n), "-k", fmt.Sprint("PatientID=P", n), "-k", "PatientName=Test^Tess").CombinedOutput()
	require.NoError(t, err, "%s", out)
	image, err := imageio.Read(path)
	require.NoError(t, err)
	disc := make([]uint8, image.W*image.H)
	for i := range disc {
		if x, y := i%image.W-image.W/2, i/image.W-image.H/2; x*x+y*y < 100*100 {
			disc[i] = 255
		}
	}
	s := dicom.Segmentation{Derived: dicom.Derived{Source: image.Header.(*dicom.Header), Model: "Test", Day: time.Now(), Identity: true}, Segments: []dicom.Segment{{Name: "disc", Levels: disc}}, By: "consensus"}
	seg, err = s.Encode()
	require.NoError(t, err)
	uid, _, err := dicom.Names(seg)
	require.NoError(t, err)
	return seg, fmt.Sprintf("SEG P%d %s", n, uid)
}

// serving is serve as a process of its own, which can be killed.
type serving struct {
	process *exec.Cmd
	out     *output
	address string
}

func serveFor(t *testing.T, home string, args ...string) *serving {
	needSite(t)
	s := &serving{process: exec.Command(os.Args[0], append([]string{"-addr", "127.0.0.1:0"}, args...)...), out: &output{}}
	s.process.Env = append(os.Environ(), asServe+"=1", "XDG_CONFIG_HOME="+home)
	s.process.Stdout, s.process.Stderr = s.out, s.out
	require.NoError(t, s.process.Start())
	t.Cleanup(s.kill)
	until(t, time.Minute, "serve is up", func() bool {
		s.address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(s.out.String())
		return s.address != "" && strings.Contains(s.out.String(), "waits in")
	})
	return s
}

func (s *serving) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// post sends a file as the page does, and returns its ID.
func (s *serving) post(t *testing.T, file []byte) string {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, _ := form.CreateFormFile("file", "blob")
	part.Write(file)
	form.Close()
	r, err := http.NewRequest(http.MethodPost, s.address+archiving[1:], &body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	require.Equal(t, 200, answer.StatusCode, "%s", text)
	var said struct{ ID string }
	require.NoError(t, json.Unmarshal(text, &said))
	return said.ID
}

// become waits until all of these have a state, and says why.
func (s *serving) become(t *testing.T, state string, ids ...string) (why string) {
	all := map[string]struct{ State, Why string }{}
	until(t, 5*time.Minute, state, func() bool {
		r, err := http.Get(s.address + archiving[1:] + "?ids=" + strings.Join(ids, ","))
		require.NoError(t, err)
		defer r.Body.Close()
		require.NoError(t, json.NewDecoder(r.Body).Decode(&all))
		for _, id := range ids {
			if all[id].State != state {
				return false
			}
		}
		return true
	})
	return all[ids[0]].Why
}

// Orthanc has what serve was given: under the patient and the study of the source, once, also where
// it, or serve, was killed in between, and with a token alone.
func TestOrthanc(t *testing.T) {
	o, home := newOrthanc(t), t.TempDir()
	photograph, token, authority := filepath.Join(home, "sample.jpg"), filepath.Join(home, "token"), filepath.Join(home, "authority.pem")
	var picture bytes.Buffer
	require.NoError(t, jpeg.Encode(&picture, synthetic.Photograph(11, 768, 576), nil))
	for path, content := range map[string][]byte{
		photograph: picture.Bytes(), token: []byte("wrong\n"), authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.proxy.Certificate().Raw}),
	} {
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	flags := []string{"-dicomweb", o.proxy.URL + "/dicom-web", "-token", token, "-authority", authority}
	s, wanted := serveFor(t, home, flags...), map[string][]string{}
	segs, ids := [][]byte{}, []string{}
	for i := range 9 {
		seg, holds := segmented(t, photograph, i%3)
		study := fmt.Sprint(studies, i%3)
		segs, wanted[study] = append(segs, seg), append(wanted[study], holds)
	}
	ids = append(ids, s.post(t, segs[0]))
	until(t, time.Minute, "the token is wrong", func() bool { return strings.Contains(s.out.String(), "401 Unauthorized; change the token's file") })
	require.NoError(t, os.WriteFile(token, []byte("right"), 0o600))
	s.become(t, "stored", ids...)
	assert.Equal(t, map[string][]string{studies + "0": wanted[studies+"0"][:1]}, o.holds())
	assert.Equal(t, ids[0], s.post(t, segs[0]))
	s.become(t, "stored", ids...)

	o.ends.Store(3)
	for _, seg := range segs[1:] {
		ids = append(ids, s.post(t, seg))
	}
	until(t, time.Minute, "Orthanc was killed", func() bool { return o.ends.Load() == 0 && o.get("system", nil) != nil })
	s.kill()
	s = serveFor(t, home, flags...)
	time.Sleep(time.Second) // it tries
	o.Start()
	s.become(t, "stored", ids...)
	same := func() {
		t.Helper()
		is := o.holds()
		require.Len(t, is, len(wanted))
		for study, files := range wanted {
			assert.ElementsMatch(t, files, is[study], study)
		}
	}
	same()
	s.kill()

	other := serveFor(t, t.TempDir(), flags...) // with another journal: Orthanc knows them itself
	ids = nil
	for _, seg := range segs {
		ids = append(ids, other.post(t, seg))
	}
	other.become(t, "stored", ids...)
	same()
	var series []string
	require.NoError(t, o.get("series", &series))
	assert.Len(t, series, len(segs), "a series each")
}
