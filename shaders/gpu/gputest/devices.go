// Package gputest opens the devices of this machine for tests. Its own tests are the conformance
// test of gpu.Device, which every device has to pass.
package gputest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
)

// RequireVariable is the environment variable with the names of the devices that must be present,
// separated by commas. A test that asks for devices fails if one of them is missing. CI=true
// requires all.
const RequireVariable = "MRPRISM_REQUIRE_DEVICES"

// lavapipe is the description of the software driver in Debian's mesa-vulkan-drivers.
const lavapipe = "/usr/share/vulkan/icd.d/lvp_icd.json"

type opened struct {
	name   string
	device gpu.Device
	err    error
}

// openedDevices opens every device once in a test binary. The devices stay open until the process
// ends.
var openedDevices = sync.OnceValue(func() []opened {
	useLavapipe()
	var devices []opened
	for _, name := range device.Names() {
		if name == device.Auto {
			continue
		}
		d, err := open(name)
		devices = append(devices, opened{name, d, err})
	}
	return devices
})

func open(name string) (gpu.Device, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return device.Open(ctx, name, device.Options{})
}

// useLavapipe makes tests use the software driver, which is the same on every machine, unless
// VK_DRIVER_FILES names another driver.
func useLavapipe() {
	if runtime.GOOS == "js" || os.Getenv("VK_DRIVER_FILES") != "" {
		return
	}
	if _, err := os.Stat(lavapipe); err == nil {
		_ = os.Setenv("VK_DRIVER_FILES", lavapipe)
	}
}

// Devices returns every device of this machine: Dawn and wgpu-native in native programs, the
// browser in wasm, and those in Go. The tests of a binary share them and must not close them. A
// missing device is logged, or fails the test if it is required.
func Devices(t testing.TB) []gpu.Device {
	t.Helper()
	var devices []gpu.Device
	for _, o := range openedDevices() {
		if o.err == nil {
			devices = append(devices, o.device)
			continue
		}
		if required(o.name) {
			t.Fatalf("device %s is required (CI or %s) and missing: %v", o.name, RequireVariable, o.err)
		}
		t.Logf("skipping device %s: %v", o.name, o.err)
	}
	return devices
}

// Each runs the test on every device, as a subtest with the backend's name. A missing device is a
// skipped subtest.
func Each(t *testing.T, test func(t *testing.T, d gpu.Device)) {
	t.Helper()
	for _, o := range openedDevices() {
		t.Run(o.name, func(t *testing.T) {
			if o.err != nil {
				missing(t, o.name, o.err)
			}
			test(t, o.device)
		})
	}
}

// Require opens a fresh device of the named backend, which is closed when the test ends. Without
// one the test is skipped, or fails if the device is required.
func Require(t testing.TB, name string) gpu.Device {
	t.Helper()
	useLavapipe()
	d, err := open(name)
	if err != nil {
		missing(t, name, err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !errors.Is(err, gpu.ErrLost) {
			t.Errorf("closing device %s: %v", name, err)
		}
	})
	return d
}

func missing(t testing.TB, name string, err error) {
	t.Helper()
	message := fmt.Sprintf("no device %s: %v", name, err)
	if required(name) {
		t.Fatal(message)
	}
	t.Skip(message)
}

func required(name string) bool {
	return os.Getenv("CI") == "true" || slices.Contains(strings.Split(os.Getenv(RequireVariable), ","), name)
}
