/* SPDX-License-Identifier: MIT */
/* What the pages share: calls of the API, words for a person, ways from page to page. What others
 * wrote enters a page as text alone; nothing here or in the pages makes markup of it. */

/* The pages may stand below a path of the public URL. */
export const base = new URL("./", import.meta.url);

const ERROR_LENGTH_MAX = 300;

export const byId = (id) => document.getElementById(id);

/* An element with a class and text, or with elements inside. */
export function make(tag, className, ...content) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...content);
  return element;
}

/* {status, json, retryAfter}; status 0: no answer came. Always an answer, never an exception. */
export async function call(method, path, body) {
  const options = { method, cache: "no-store", credentials: "same-origin", redirect: "error" };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  try {
    const response = await fetch(new URL(`api/${path}`, base), options);
    const json = await response.json().catch(() => null);
    const retryAfter = response.headers.get("Retry-After");
    return { status: response.status, json: json ?? {}, retryAfter };
  } catch {
    return { status: 0, json: { message: "the gateway cannot be reached" }, retryAfter: null };
  }
}

/* The server's own words, as a sentence begins. */
export function messageOf(answer) {
  const message = answer.json.message ?? `the gateway answered with status ${answer.status}`;
  return String(message).replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

/* Words. --------------------------------------------------------------------------------------- */

export function showError(text) {
  byId("alert").replaceChildren(make("p", "notice error", text));
}

export function clearError() {
  byId("alert").replaceChildren();
  for (const input of document.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-errormessage");
    byId(`${input.id}-error`)?.remove();
  }
}

/* Below the field, which the focus then reads out with it. */
function showFieldError(input, text) {
  const line = make("p", "field-error", text);
  line.id = `${input.id}-error`;
  line.setAttribute("role", "alert");
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", line.id);
  (input.closest(".password") ?? input).after(line);
  input.focus();
}

/* The server names a field in quotes at the start: 'password' is too short … */
export function showRefusal(answer, form) {
  const name = /^'(\w+)'/.exec(answer.json.message ?? "")?.[1];
  const input = name === undefined ? null : form.elements.namedItem(name);
  if (input instanceof HTMLInputElement && input.checkVisibility()) {
    const label = input.labels[0].firstChild.textContent.trim();
    showFieldError(input, messageOf(answer).replace(`'${name}'`, () => label));
  } else {
    showError(messageOf(answer));
  }
}

/* What a failed sign-in at a provider left in the address: anybody can write it there. */
export function showErrorOfAddress() {
  const query = new URLSearchParams(location.search);
  if (query.has("error") || query.has("error_description")) {
    const words = query.get("error_description") || query.get("error") || "no reason was given";
    showError(`The sign-in failed: ${words.slice(0, ERROR_LENGTH_MAX)}`);
  }
}

function duration(seconds) {
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

function secondsUntil(retryAfter) {
  const text = retryAfter ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : 1;
}

/* Too many tries: says so once, and counts in the button, where no screen reader repeats it. */
export async function waitForRetry(answer, button) {
  const end = Date.now() + secondsUntil(answer.retryAfter) * 1000;
  const words = button.textContent;
  const left = () => Math.ceil((end - Date.now()) / 1000);
  showError(`Too many attempts. You can try again in ${duration(left())}.`);
  button.setAttribute("aria-disabled", "true");
  while (left() > 0) {
    button.textContent = `Wait ${duration(left())}`;
    await new Promise((resolve) => { setTimeout(resolve, 250); });
  }
  button.textContent = words;
  button.removeAttribute("aria-disabled");
  clearError();
}

/* Forms. --------------------------------------------------------------------------------------- */

/* Runs 'work' on each submission, one at a time; without scripts such a form is refused by the
 * server, and its method keeps a password out of the address. */
export function onSubmit(form, work) {
  const button = form.querySelector(".main");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.getAttribute("aria-disabled") === "true") {
      return;
    }
    clearError();
    button.setAttribute("aria-disabled", "true");
    try {
      await work(button);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
}

/* The button beside a password shows it and hides it. */
export function addToggle(button) {
  const input = byId(button.getAttribute("aria-controls"));
  const set = (isShown) => {
    input.type = isShown ? "text" : "password";
    button.replaceChildren(isShown ? "Hide" : "Show", make("span", "unseen", " password"));
  };
  button.addEventListener("click", () => { set(input.type === "password"); });
  /* Hidden again before a browser offers to keep what it takes for plain text. */
  input.form.addEventListener("submit", () => { set(false); }, { capture: true });
}

/* Ways. ---------------------------------------------------------------------------------------- */

/* The address to go to for 'to', if that is a path of this origin; else the first page. What a
 * browser would make of it decides, not how it looks: "/\evil", "/<tab>/evil" are other hosts. */
export function landing(to) {
  if (typeof to === "string" && to.startsWith("/") && URL.canParse(to, location.origin)) {
    const url = new URL(to, location.origin);
    if (url.origin === location.origin) {
      return `${location.origin}${url.pathname}${url.search}${url.hash}`;
    }
  }
  return base.href;
}

/* To a page of the console, with these parts of a query. */
export function goTo(page, query = {}, fragment = "") {
  const url = new URL(page, base);
  url.search = new URLSearchParams(query).toString();
  url.hash = fragment;
  location.replace(url);
}

/* The errors in this page's address, for the page that shows them. */
export function errorsOfAddress() {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(["error", "error_description"].filter((name) => query.has(name))
    .map((name) => [name, query.get(name)]));
}

/* To the provider's own page, which leads back to 'target'. */
export async function signInAtProvider(target, parameters) {
  const query = new URLSearchParams({ redirect: target, ...parameters });
  const answer = await call("GET", `login?${query}`);
  const url = answer.json.login_url;
  if (answer.status === 200 && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) {
    location.assign(url);
  } else {
    showError(messageOf(answer));
  }
}

/* As an admin named it; else what its address tells. */
export function providerName(info) {
  const names = [info.provider_name, info.idp_provider_name];
  return names.find((name) => name && name !== "unknown") || "single sign-on";
}

/* A page that the browser kept may show what its reader may no longer see. */
addEventListener("pageshow", (event) => {
  if (event.persisted) {
    location.reload();
  }
});
