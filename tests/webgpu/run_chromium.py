"""Opens the pages of exported models in headless Chromium, and prints what they report.

run_chromium.py CHROMIUM FOLDER...
"""

import http.server
import os
import subprocess
import sys
import tempfile
import threading

FLAGS = [
    "--headless", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
PATIENCE = 120  # seconds a page


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.send_response(204)
        self.end_headers()
        self.server.report = text
        self.server.reported.set()

    def log_message(self, *_):
        pass


def report_of(chromium, folder):
    """What the page in the folder says."""
    handler = lambda *arguments: Handler(*arguments, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True) as profile:
        server.reported, server.report = threading.Event(), "FAIL no report"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/index.html?report=/report"
        browser = subprocess.Popen([chromium, *FLAGS, f"--user-data-dir={profile}", url],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.reported.wait(PATIENCE)
        browser.terminate()
        try:
            browser.wait(10)
        except subprocess.TimeoutExpired:
            browser.kill()
            browser.wait()
        server.shutdown()
        return server.report


def main():
    chromium, *folders = sys.argv[1:]
    failed = False
    for folder in folders:
        report = report_of(chromium, os.path.abspath(folder))
        print(report, flush=True)
        failed = failed or not report.startswith("PASS")
    sys.exit(failed)


if __name__ == "__main__":
    main()
