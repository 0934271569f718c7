"""Opens the pages of exported models in a headless browser, and prints what they report.

run_browser.py chromium|firefox-esr FOLDER...
"""

import http.server
import os
import subprocess
import sys
import tempfile
import threading

PATIENCE = 120  # seconds a page
CHROMIUM = [
    "--headless", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
FIREFOX = {"dom.webgpu.enabled": "true", "gfx.webgpu.ignore-blocklist": "true", "app.update.enabled": "false",
           "datareporting.policy.dataSubmissionEnabled": "false", "toolkit.telemetry.enabled": "false"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and takes the page's report."""

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.send_response(204)
        self.end_headers()
        self.server.report = text
        self.server.reported.set()

    def log_message(self, *_):
        pass


def command(browser, profile, url):
    """What opens the page, with a profile of its own."""
    if "firefox" in browser:
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as preferences:
            for name, value in FIREFOX.items():
                preferences.write(f'user_pref("{name}", {value});\n')
        return [browser, "--headless", "--no-remote", "--profile", profile, url]
    return [browser, *CHROMIUM, f"--user-data-dir={profile}", url]


def report_of(browser, folder):
    """What the page in the folder says."""
    def handler(*arguments):
        return Handler(*arguments, directory=folder)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True) as profile:
        server.reported, server.report = threading.Event(), "FAIL no report"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/index.html?report=/report"
        opened = subprocess.Popen(command(browser, profile, url), env=dict(os.environ, HOME=profile),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.reported.wait(PATIENCE)
        opened.terminate()
        try:
            opened.wait(10)
        except subprocess.TimeoutExpired:
            opened.kill()
            opened.wait()
        server.shutdown()
        return server.report


def main():
    browser, *folders = sys.argv[1:]
    failed = False
    for folder in folders:
        report = report_of(browser, os.path.abspath(folder))
        print(report, flush=True)
        failed = failed or not report.startswith("PASS")
    sys.exit(failed)


if __name__ == "__main__":
    main()
