/* SPDX-License-Identifier: MIT */
/* An invited person chooses a password, or goes on to the provider. The token of the link comes
 * behind '#', which browsers send to nobody. */
import {
  addToggle, base, byId, call, goTo, messageOf, onSubmit, providerName, showError, showRefusal,
  signInAtProvider, waitForRetry,
} from "./console.js";

const form = byId("invitation-form");
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

function showOver() {
  byId("page").hidden = true;
  byId("over").hidden = false;
}

async function accept(button) {
  const body = { token, password: byId("password").value };
  const name = byId("name").value.trim();
  if (name !== "") {
    body.name = name;
  }
  const answer = await call("POST", "localauth/invitation/accept", body);
  if (answer.status === 200 && answer.json.second_factor_required) {
    goTo("sign-in");
  } else if (answer.status === 200) {
    location.replace(base);
  } else if (answer.status === 429) {
    await waitForRetry(answer, button);
  } else if (answer.status === 403) {
    showOver();
  } else {
    showRefusal(answer, form);
  }
}

/* The provider must give the invited address; whoever signs in there with another is not invited. */
function offerProvider(info, organization) {
  byId("provider-name").textContent = providerName(info);
  byId("provider").hidden = false;
  byId("with-password").open = false;
  byId("with-password-summary").hidden = false;
  byId("what-next").textContent = "Sign in with this address.";
  form.querySelector(".main").classList.add("second");
  onSubmit(byId("provider"), () => signInAtProvider(base.href, { organization }));
}

function showInvitation(invitation, info) {
  byId("whom").textContent = invitation.email;
  byId("organization").textContent = invitation.organization;
  byId("where").hidden = invitation.organization === "default";
  byId("email").value = invitation.email;
  byId("name").value = invitation.name;
  byId("expiry").dateTime = invitation.expires_at;
  byId("expiry").textContent = new Date(invitation.expires_at).toLocaleString(
    undefined, { dateStyle: "long", timeStyle: "short" });
  if (info.auth_method === "oidc") {
    offerProvider(info, invitation.organization);
  }
  byId("with-password").hidden = info.local_auth === false;
  byId("page").hidden = false;
  if (byId("provider").hidden) {
    byId("password").focus();
  }
}

async function start() {
  const [invitation, info] = await Promise.all([
    call("POST", "localauth/invitation", { token }), call("GET", "publicserverinfo"),
  ]);
  if (invitation.status === 200) {
    addToggle(byId("toggle"));
    onSubmit(form, accept);
    showInvitation(invitation.json, info.json);
  } else if (invitation.status === 400 || invitation.status === 403) {
    showOver();
  } else {
    showError(messageOf(invitation));
  }
}

start();
