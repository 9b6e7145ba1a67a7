"""The pictures of n8n/pictures: each workflow's canvas in n8n's own editor, seen by a browser.

Run by scripts/n8n-pictures.sh, with the names of the workflows to take, or none for all of them.
"""

import io
import shutil
import sys

from PIL import Image
from playwright.sync_api import sync_playwright

from harness import database
from harness.n8n import EMAIL, PASSWORD, N8n
from harness.places import STATE, WORKFLOWS
from harness.waiting import PATIENCE_S

PICTURES = WORKFLOWS / "pictures"
# So large that the editor shows the widest workflow at its full size.
WINDOW = {"width": 3000, "height": 1500}
MARGIN = 24
WIDTH = 1400
# Where there are nodes and notes. A node's name stands below it, and what may be added right of it.
BOXES = """() => [...document.querySelectorAll('.vue-flow__node')].map(node => {
    const box = node.getBoundingClientRect();
    const isNote = node.querySelector('[data-test-id="sticky"]');
    return [box.left, box.top, box.right + (isNote ? 0 : 60), box.bottom + (isNote ? 0 : 50)];
})"""


def main():
    names = sys.argv[1:] or sorted(file.stem for file in WORKFLOWS.glob("*.json"))
    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir(parents=True)
    PICTURES.mkdir(exist_ok=True)
    database.make_databases()
    # Nothing runs here: there is no need for a proxy, nor for a world.
    n8n = N8n(0, "http://127.0.0.1:9")
    try:
        n8n.set_up()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            context = browser.new_context(base_url=n8n.url, viewport=WINDOW)
            context.set_default_timeout(PATIENCE_S * 1000)
            context.request.post("/rest/login", data={"emailOrLdapLoginId": EMAIL, "password": PASSWORD})
            page = context.new_page()
            for name in names:
                take(page, name)
                print(f"n8n/pictures/{name}.png")
            browser.close()
    finally:
        n8n.stop()
        database.drop_databases()


def take(page, name):
    page.goto(f"/workflow/{name}")
    page.wait_for_selector(".vue-flow__node")
    # The canvas moves into place by itself.
    before = None
    while (boxes := page.evaluate(BOXES)) != before:
        before = boxes
        page.wait_for_timeout(1000)
    left, top = (min(box[n] for box in boxes) - MARGIN for n in (0, 1))
    right, bottom = (max(box[n] for box in boxes) + MARGIN for n in (2, 3))
    picture = Image.open(io.BytesIO(page.screenshot(
        clip={"x": left, "y": top, "width": right - left, "height": bottom - top})))
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
    picture.convert("RGB").quantize(256).save(PICTURES / f"{name}.png", optimize=True)


main()
