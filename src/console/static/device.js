/* SPDX-License-Identifier: MIT */
/* A program without a browser shows a code; whoever is signed in here compares it, and says yes or
 * no (RFC 8628). A link that brought the code along decides nothing: the person does. */
import {
  byId, call, goTo, messageOf, onSubmit, showError, showRefusal, waitForRetry,
} from "./console.js";

const codeForm = byId("code-form");
let userCode = "";

function showStep(isAsking) {
  codeForm.hidden = isAsking;
  byId("ask").hidden = !isAsking;
}

function showDone(text) {
  codeForm.hidden = true;
  byId("ask").hidden = true;
  byId("done").textContent = text;
  byId("done").hidden = false;
}

function showProgram(waiting) {
  userCode = waiting.user_code;
  byId("shown-code").textContent = waiting.user_code;
  byId("program").textContent = waiting.program || "nothing";
  byId("from").textContent = waiting.asked_from;
  byId("time").dateTime = waiting.created_at;
  byId("time").textContent = new Date(waiting.created_at).toLocaleTimeString();
  showStep(true);
}

async function look(button) {
  const typed = byId("user_code").value.trim();
  const answer = await call("GET", `device?${new URLSearchParams({ user_code: typed })}`);
  if (answer.status === 200) {
    showProgram(answer.json);
  } else if (answer.status === 429) {
    await waitForRetry(answer, button);
  } else {
    showRefusal(answer, codeForm);
  }
}

async function decide(approve, button) {
  const answer = await call("POST", "device", { user_code: userCode, approve });
  if (answer.status === 204) {
    showDone(approve ? "The program is signed in. You can close this page."
      : "The program was refused. You can close this page.");
  } else if (answer.status === 429) {
    await waitForRetry(answer, button);
  } else {
    showStep(false);
    showError(messageOf(answer));
  }
}

async function start() {
  const me = await call("GET", "userinfo");
  if (me.status === 401) {
    goTo("sign-in", { to: location.pathname + location.search });
    return;
  }
  byId("page").hidden = false;
  if (me.status !== 200) {
    showError(messageOf(me));
    return;
  }
  byId("who").textContent = me.json.email || me.json.name;
  onSubmit(codeForm, look);
  onSubmit(byId("approve-form"), (button) => decide(true, button));
  onSubmit(byId("refuse-form"), (button) => decide(false, button));
  byId("user_code").value = new URLSearchParams(location.search).get("user_code") ?? "";
  byId("user_code").focus();
  if (byId("user_code").value !== "") {
    await look(codeForm.querySelector(".main"));
  }
}

start();
