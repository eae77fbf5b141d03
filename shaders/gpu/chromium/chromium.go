//go:build !js

// Package chromium finds a Chromium on this machine, and starts it without a window for browser
// tests and cmd/bench. There WebGPU runs on Chromium's software adapter.
package chromium

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Variable is the environment variable that names the browser's program.
const Variable = "CHROMIUM"

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

// Command starts the browser without a window, with a fresh profile in folder, at an address. The
// browser ends with the context.
func Command(ctx context.Context, chromium, folder, address string) *exec.Cmd {
	c := exec.CommandContext(ctx, chromium,
		"--headless", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan",
		"--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--user-data-dir="+folder, address)
	c.WaitDelay = 2 * time.Second
	return c
}
