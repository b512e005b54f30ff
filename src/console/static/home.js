/* SPDX-License-Identifier: MIT */
/* Who is signed in, and which resources he may see. */
import { byId, call, errorsOfAddress, goTo, make, messageOf, showError } from "./console.js";

const PAGE_SIZE = 50;
let shown = 0;
let pages = 0;

/* The way back leads here, without the errors that a sign-in left in the address. */
function goToSignIn() {
  const here = new URL(location.href);
  const errors = errorsOfAddress();
  for (const name of Object.keys(errors)) {
    here.searchParams.delete(name);
  }
  goTo("sign-in", { to: here.pathname + here.search + here.hash, ...errors });
}

function showMe(me) {
  const roles = { admin: "Admin", auditor: "Auditor" };
  byId("who").textContent = me.email || me.name;
  byId("me-name").textContent = me.name;
  byId("me-name-row").hidden = me.name === "";
  byId("me-email").textContent = me.email;
  byId("me-role").textContent = roles[me.role] ?? "Member";
  byId("me-organization").textContent = me.org_name;
  byId("me-groups").replaceChildren(...me.groups.map((group) => make("li", "", group)));
  byId("me-groups-row").hidden = me.groups.length === 0;
  byId("empty-admin").hidden = me.is_admin !== true;
  byId("empty-member").hidden = me.is_admin === true;
}

function lineOf(resource) {
  const kind = [resource.type, resource.subtype].filter(Boolean).join(" · ");
  const roles = resource.roles.map((role) => role.name).join(", ");
  const line = make("li", "", make("span", "name", resource.name), make("span", "kind", kind));
  if (roles !== "") {
    line.append(make("span", "roles", `Roles: ${roles}`));
  }
  return line;
}

async function showMore() {
  const query = `page=${pages + 1}&page_size=${PAGE_SIZE}&without_values=true`;
  const answer = await call("GET", `resources?${query}`);
  if (answer.status === 401) {
    goToSignIn();
    return;
  }
  if (answer.status !== 200) {
    showError(messageOf(answer));
    return;
  }
  const { data, pages: { total } } = answer.json;
  pages += 1;
  shown += data.length;
  byId("resources").append(...data.map(lineOf));
  byId("resources").hidden = shown === 0;
  byId("empty").hidden = shown > 0;
  byId("count").textContent = shown < total ? `${shown} of ${total}` : String(total);
  byId("count").hidden = total === 0;
  byId("more").hidden = data.length === 0 || shown >= total;
}

async function signOut() {
  const answer = await call("POST", "logout");
  if (answer.status === 204 || answer.status === 401) {
    goTo("sign-in");
  } else {
    showError(messageOf(answer));
  }
}

async function start() {
  const answer = await call("GET", "userinfo");
  if (answer.status === 401) {
    goToSignIn();
    return;
  }
  byId("sign-out").addEventListener("click", signOut);
  byId("more").addEventListener("click", showMore);
  byId("page").hidden = false;
  if (answer.status !== 200) {
    showError(messageOf(answer));
    return;
  }
  showMe(answer.json);
  byId("signed-in").hidden = false;
  byId("me").hidden = false;
  await showMore();
}

start();
