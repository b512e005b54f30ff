/* SPDX-License-Identifier: MIT */
/* Sign in: with a password and, where the account has it, a one-time code; or at the provider. */
import {
  addToggle, byId, call, clearError, errorsOfAddress, goTo, landing, messageOf, onSubmit,
  providerName, showError, showErrorOfAddress, showRefusal, signInAtProvider, waitForRetry,
} from "./console.js";

const query = new URLSearchParams(location.search);
const target = landing(query.get("to"));
const organization = query.get("organization");
const ofOrganization = organization === null ? {} : { organization };
const passwordForm = byId("password-form");
const codeForm = byId("code-form");
const password = byId("password");
const code = byId("code");

function showStep(isCode) {
  byId("code-step").hidden = !isCode;
  byId("first-step").hidden = isCode;
  byId("no-account").hidden = isCode;
  (isCode ? code : password).focus();
}

function startAgain() {
  password.value = "";
  code.value = "";
  showStep(false);
}

async function signIn(button) {
  const isCode = button.form === codeForm;
  const body = { email: byId("email").value.trim(), password: password.value, ...ofOrganization };
  if (isCode) {
    body.code = code.value.replace(/\s/g, "");
  }
  const answer = await call("POST", "localauth/login", body);
  if (answer.status === 200) {
    location.replace(target);
    return;
  }
  if (answer.status === 401 && answer.json.second_factor_required && !isCode) {
    showStep(true);
    return;
  }
  if (answer.status === 429) {
    await waitForRetry(answer, button);
    return;
  }
  if (isCode && answer.status === 401 && !answer.json.second_factor_required) {
    startAgain();
  }
  showRefusal(answer, button.form);
  if (answer.status === 401) {
    const input = isCode && !byId("code-step").hidden ? code : password;
    input.select();
    input.focus();
  }
}

function useRecoveryCode(isRecovery) {
  byId("code-label").textContent = isRecovery ? "Recovery code" : "One-time code";
  byId("code-hint").textContent = isRecovery
    ? "One of the codes that you kept when you set up the second step."
    : "Six digits, from your authenticator app.";
  byId("recovery").textContent = isRecovery ? "Use a one-time code" : "Use a recovery code";
  code.inputMode = isRecovery ? "text" : "numeric";
  code.autocomplete = isRecovery ? "off" : "one-time-code";
  code.value = "";
  clearError();
  code.focus();
}

/* The provider comes first where there is one; a password stays possible below it. */
function offerProvider(info) {
  byId("provider-name").textContent = providerName(info);
  byId("provider").hidden = false;
  byId("with-password").open = false;
  byId("with-password-summary").hidden = false;
  passwordForm.querySelector(".main").classList.add("second");
  byId("with-password").hidden = info.local_auth === false;
  byId("no-account").replaceChildren(); /* the provider makes them */
  onSubmit(byId("provider"), () => signInAtProvider(target, ofOrganization));
}

async function start() {
  const answer = await call("GET", "publicserverinfo");
  if (answer.json.setup_required === true) {
    goTo("register", errorsOfAddress(), location.hash);
    return;
  }
  if (answer.status !== 200) {
    showError(messageOf(answer));
  }
  if (answer.json.auth_method === "oidc") {
    offerProvider(answer.json);
  }
  showErrorOfAddress();
  addToggle(byId("toggle"));
  onSubmit(passwordForm, signIn);
  onSubmit(codeForm, signIn);
  byId("back").addEventListener("click", () => { clearError(); startAgain(); });
  byId("recovery").addEventListener("click", () => {
    useRecoveryCode(code.inputMode === "numeric");
  });
  byId("page").hidden = false;
  if (byId("provider").hidden) {
    byId("email").focus();
  }
}

start();
