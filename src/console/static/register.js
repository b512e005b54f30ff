/* SPDX-License-Identifier: MIT */
/* Create the first admin. The set-up code comes behind '#', which browsers send to nobody. */
import {
  addToggle, base, byId, call, messageOf, onSubmit, providerName, showError, showErrorOfAddress,
  showRefusal, signInAtProvider, waitForRetry,
} from "./console.js";

const form = byId("register-form");
const setupCode = byId("setup_code");
const ofLink = new URLSearchParams(location.hash.slice(1)).get("setup_code") ?? "";

function codeMembers() {
  const code = ofLink || setupCode.value.trim();
  return code === "" ? {} : { setup_code: code };
}

async function register(button) {
  const body = { email: byId("email").value.trim(), password: byId("password").value };
  const name = byId("name").value.trim();
  if (name !== "") {
    body.name = name;
  }
  const answer = await call("POST", "localauth/register", { ...body, ...codeMembers() });
  if (answer.status === 201) {
    location.replace(base); /* in place of this page and its code */
  } else if (answer.status === 429) {
    await waitForRetry(answer, button);
  } else {
    byId("setup-code-field").hidden &&= answer.status !== 403 || ofLink !== "";
    showRefusal(answer, form);
  }
}

function offerProvider(info) {
  byId("provider-name").textContent = providerName(info);
  byId("provider").hidden = false;
  byId("with-password").open = false;
  byId("with-password-summary").hidden = false;
  form.querySelector(".main").classList.add("second");
  byId("with-password").hidden = info.local_auth === false;
  onSubmit(byId("provider"), async () => {
    if (codeMembers().setup_code === undefined) {
      showError("The set-up code is missing: the first to sign in becomes the admin.");
      setupCode.focus();
    } else {
      await signInAtProvider(base.href, codeMembers());
    }
  });
}

async function start() {
  const answer = await call("GET", "publicserverinfo");
  if (answer.status === 200 && answer.json.setup_required !== true) {
    byId("done").hidden = false;
    return;
  }
  if (answer.status !== 200) {
    showError(messageOf(answer));
  }
  if (answer.json.auth_method === "oidc") {
    offerProvider(answer.json);
  }
  showErrorOfAddress();
  byId("setup-code-field").hidden = ofLink !== "";
  addToggle(byId("toggle"));
  onSubmit(form, register);
  byId("page").hidden = false;
  if (byId("provider").hidden) {
    byId("email").focus();
  }
}

start();
