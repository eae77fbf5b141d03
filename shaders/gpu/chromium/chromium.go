//go:build !js

// Package chromium finds a Chromium on this machine, and starts it without a window for browser
// tests and cmd/bench. There WebGPU runs on Chromium's software adapter, or on the machine's card.
package chromium

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Variable is the environment variable that names the browser's program. AdapterVariable is the one
// that, set to "vulkan", has WebGPU compute on the machine's own Vulkan adapter.
const (
	Variable        = "CHROMIUM"
	AdapterVariable = "CHROMIUM_ADAPTER"
)

// Find gives the path of the program that Variable names, or of the first one installed.
func Find() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
		`C:\Program Files\Google\Chrome\Application\chrome.exe`}
	if named := os.Getenv(Variable); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium (on Debian: apt-get install chromium); tried %s", strings.Join(names, ", "))
}

// Adapter gives the flags by which a browser without a window has a WebGPU adapter.
func Adapter() map[string]any {
	flags := map[string]any{"enable-unsafe-webgpu": true, "enable-features": "Vulkan"}
	if os.Getenv(AdapterVariable) == "vulkan" {
		flags["use-angle"], flags["disable-vulkan-surface"], flags["ignore-gpu-blocklist"] = "vulkan", true, true
		return flags
	}
	flags["use-webgpu-adapter"], flags["enable-unsafe-swiftshader"] = "swiftshader", true
	return flags
}

// Command starts the browser without a window, with a fresh profile in folder, at an address. The
// browser ends with the context.
func Command(ctx context.Context, chromium, folder, address string) *exec.Cmd {
	arguments := []string{"--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir=" + folder}
	for name, value := range Adapter() {
		if value == true {
			arguments = append(arguments, "--"+name)
		} else {
			arguments = append(arguments, fmt.Sprintf("--%s=%v", name, value))
		}
	}
	c := exec.CommandContext(ctx, chromium, append(arguments, address)...)
	c.WaitDelay = 2 * time.Second
	return c
}
