# SPDX-License-Identifier: MIT
"""What tests of the console share: signing in, fields and buttons by their words, pictures of a page
and what axe finds on it."""
import base64
import json
import os

from api import PASSWORD
from conftest import ROOT

SHOTS = os.path.join(ROOT, "build/screenshots")
AXE = os.path.join(ROOT, "web/node_modules/axe-core/axe.min.js")


def sign_in(page, gateway, path, email="root@example.com"):
    assert gateway.admin.token  # somebody is registered
    page.open(gateway.url("/sign-in?to=" + path))
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    page.press_enter()
    page.until_shown("#main")


def write_sql(page, text):
    page.until_shown(".cm-content")
    page.until("document.activeElement.closest('.cm-editor') !== null")
    page.call("Input.insertText", text=text)


def press(page, key, **more):
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **more)


def button(page, words, inside="body"):
    """Clicks what is called so."""
    find = (f"[...document.querySelectorAll({json.dumps(inside + ' button')})]"
            f".find((one) => one.innerText.trim() === {json.dumps(words)} && one.checkVisibility())")
    page.until(f"{find} !== undefined")
    page.run(f"{find}.click()")


def until_text(page, text):
    page.until(f"document.body?.innerText.includes({json.dumps(text)})")


def shoot(page, name, looked_at=("light", "dark")):
    """Both colours of the page as it stands, kept, and looked at by axe."""
    os.makedirs(SHOTS, exist_ok=True)
    with open(AXE, encoding="utf-8") as file:
        axe = file.read()
    found = []
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.until(f"[undefined, '{scheme}'].includes(document.documentElement.dataset.mantineColorScheme)")
        settled(page)
        shot = page.call("Page.captureScreenshot", format="png")["data"]
        with open(os.path.join(SHOTS, f"{name}-{scheme}.png"), "wb") as file:
            file.write(base64.b64decode(shot))
        if scheme not in looked_at:
            continue
        page.run(f"if (!window.axe) {{ {axe} }}; 0")
        # Nothing but colours is another in the dark: each rule is asked once.
        rules = ", runOnly: ['color-contrast']" if scheme != looked_at[0] else ""
        found += [f"{name}, {scheme}: {line}" for line in page.run(
            f"axe.run(document, {{resultTypes: ['violations']{rules}}}).then((all) => all.violations"
            ".filter((one) => one.impact !== 'minor').flatMap((one) => one.nodes.slice(0, 3)"
            ".map((node) => `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)))")]
    return found


def label(page, words, text, inside="[role=dialog]"):
    """Fills the field that is called so."""
    selector = "#" + page.until(
        f"[...document.querySelectorAll('{inside} label')].find((one) => one.innerText.replace(' *', '')"
        f" === {json.dumps(words)})?.htmlFor").replace(":", "\\:")
    page.fill(selector, text)


def select(page, selector, value):
    """Another choice of a <select>."""
    page.run(f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
             "Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set"
             f".call(one, {json.dumps(value)}); one.dispatchEvent(new Event('change', {{bubbles: true}})) }})()")


def choose(page, words):
    """Takes what is offered under that name."""
    find = (f"[...document.querySelectorAll('[role=option], [role=menuitem]')]"
            f".find((one) => one.innerText.split('\\n')[0] === {json.dumps(words)} && one.checkVisibility())")
    page.until(f"{find} !== undefined")
    page.run(f"{find}.click()")


def settled(page):
    page.until("document.querySelector('main h1') !== null && "
               "!document.querySelector('[role=status][aria-label=Loading]') && "
               "document.getAnimations().every((one) => one.effect.getTiming().iterations === Infinity)")
