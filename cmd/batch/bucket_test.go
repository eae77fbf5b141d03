package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakes are servers on this machine whose bucket "eyes" has the files. They set the variables by
// which the clients find them.
var fakes = map[string]func(t *testing.T, files map[string][]byte){
	"s3": func(t *testing.T, files map[string][]byte) {
		bucket := s3mem.New()
		require.NoError(t, bucket.CreateBucket("eyes"))
		for name, data := range files {
			_, err := bucket.PutObject("eyes", name, nil, bytes.NewReader(data), int64(len(data)), nil)
			require.NoError(t, err)
		}
		s := httptest.NewServer(gofakes3.New(bucket).Server())
		t.Cleanup(s.Close)
		t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
		t.Setenv("AWS_REGION", "us-east-1")
		t.Setenv("AWS_ACCESS_KEY_ID", "any")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	},
	"gs": func(t *testing.T, files map[string][]byte) {
		var objects []fakestorage.Object
		for name, data := range files {
			objects = append(objects, fakestorage.Object{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: "eyes", Name: name}, Content: data})
		}
		s, err := fakestorage.NewServerWithOptions(fakestorage.Options{InitialObjects: objects, Scheme: "http", Host: "127.0.0.1", PublicHost: "127.0.0.1"})
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(s.URL(), "http://"))
	},
}

// Photographs in a bucket get the masks of the same photographs in a folder. What is not there is
// said before any work.
func TestBuckets(t *testing.T) {
	in, w, near := photographs(t, 3), untrained(t, 1), filepath.Join(t.TempDir(), "near")
	files := map[string][]byte{}
	for _, name := range []string{"p00.png", "p01.png", "p02.png"} {
		data, err := os.ReadFile(filepath.Join(in, name))
		require.NoError(t, err)
		files["left/"+name] = data
	}
	got := call(t, nil, "-weights", w, "-out", near, filepath.Join(in, "*.png"))
	require.Zero(t, got.code, got.stderr)
	for scheme, fake := range fakes {
		t.Run(scheme, func(t *testing.T) {
			fake(t, files)
			at, far := scheme+"://eyes/", filepath.Join(t.TempDir(), "far")
			got := call(t, nil, "-weights", w, "-out", far, at+"left/*.png")
			require.Zero(t, got.code, got.stderr)
			assert.Len(t, savedMasks(t, far), 3)
			assert.Equal(t, savedMasks(t, near), savedMasks(t, far))
			assert.Equal(t, at+"left/p00.png", table(t, filepath.Join(far, "results.csv"))[0]["image"])

			list := filepath.Join(t.TempDir(), "list.txt")
			require.NoError(t, os.WriteFile(list, []byte(at+"left/p00.png\n"+at+"left/gone.png\n"), 0o644))
			got = call(t, nil, "-weights", w, "-out", far, "-list", list)
			assert.Equal(t, 1, got.code)
			assert.Contains(t, got.stderr, "line 2: "+at+"left/gone.png: ")
			got = call(t, nil, "-weights", w, "-out", far, at+"right/*.png")
			assert.Equal(t, 1, got.code)
			assert.Contains(t, got.stderr, at+"right/*.png matches no file")
		})
	}
}
