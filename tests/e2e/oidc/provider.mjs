// SPDX-License-Identifier: MIT
// A real OpenID Connect provider for the tests: provider.mjs PORT. People answer its questions at
// once: the header X-Person of their browser says who they are, and without one they say no. A
// second port, printed at the start, controls it: what it claims of people, its keys, its clock,
// what is wrong with its tokens, and what fails.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import http from 'node:http';

import { CompactSign, base64url, decodeJwt, decodeProtectedHeader, exportSPKI, importJWK } from 'jose';
import Provider, { interactionPolicy } from 'oidc-provider';

const CLIENT_SECRET = 'a secret that nobody may ever see: %:+/';
const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;

const realDate = Date;
const accounts = new Map();
const cookieKeys = [randomBytes(32).toString('hex')];
let generation = -1; // 0 are those of a stranger
let keys;
let state;
let requests;
let provider;
let callback;
let clockSeconds = 0;

globalThis.Date = class extends realDate {
  constructor(...values) {
    if (values.length > 0) {
      super(...values);
    } else {
      super(realDate.now() + clockSeconds * 1000);
    }
  }

  static now() {
    return realDate.now() + clockSeconds * 1000;
  }
};

function makeKeys() {
  generation += 1;
  const make = (kind, options) => ({
    ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }),
    kid: `${kind}-${generation}`,
    use: 'sig',
  });
  return {
    rsa: make('rsa', { modulusLength: 2048 }),
    ec: make('ec', { namedCurve: 'P-256' }),
    ed25519: make('ed25519'),
  };
}

const strangersKeys = makeKeys();
const publicPart = ({ kty, n, e, crv, x, y, kid, use }) => ({ kty, n, e, crv, x, y, kid, use });

function keyFor(alg, set) {
  const kind = { R: 'rsa', P: 'rsa', E: alg === 'EdDSA' ? 'ed25519' : 'ec' }[alg[0]];
  return set[kind];
}

// What a test can change; null in the claims or in the header takes a member away.
function freshState() {
  return {
    client: {},            // metadata over that of every client
    auth_methods: ['client_secret_basic', 'client_secret_post', 'none'],
    claims_in_id_token: true,
    id_token_seconds: 3600,
    resource: null,        // of access tokens when none is asked for: makes them JWTs
    id_token: null,        // {claims, header, sign, text} of the next id tokens
    discovery: {},         // members over those of the document
    userinfo: {},          // likewise
    keys_cache: null,      // the header Cache-Control of the keys
    faults: {},            // by route: {status} {mode: cut|cut-body|garbage|huge|slow, ms}
    code_seconds: 60,
  };
}

function clients() {
  const web = {
    application_type: 'native', // any port of the loopback host
    redirect_uris: ['http://127.0.0.1/api/callback', 'http://localhost/api/callback',
      'http://127.0.0.1/rp', ...(state.redirect_uris ?? [])],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    client_secret: CLIENT_SECRET,
    ...state.client,
  };
  const publicClient = { ...web, client_id: 'public', token_endpoint_auth_method: 'none' };
  delete publicClient.client_secret;
  const machine = {
    grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
    client_secret: CLIENT_SECRET,
    token_endpoint_auth_method: state.auth_methods[0],
  };
  return [
    { ...web, client_id: 'gatehouse', token_endpoint_auth_method: state.auth_methods[0] },
    publicClient,
    { ...machine, client_id: 'machine' },
    { ...machine, client_id: 'other-machine' },
  ];
}

function makePolicy() {
  const policy = interactionPolicy.base();
  policy.get('consent').checks.remove('native_client_prompt');
  return policy;
}

async function consentToAll(ctx) {
  const { client, session, resourceServers, provider: self } = ctx.oidc;
  const grant = new self.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid profile email offline_access groups');
  for (const resource of Object.keys(resourceServers ?? {})) {
    grant.addResourceScope(resource, 'api');
  }
  await grant.save();
  return grant;
}

function configuration() {
  return {
    adapter: undefined, // memory, which a new Provider goes on with
    jwks: { keys: Object.values(keys) },
    clients: clients(),
    clientAuthMethods: state.auth_methods,
    cookies: { keys: cookieKeys },
    scopes: ['openid', 'offline_access', 'api', 'groups'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'picture', 'groups', 'roles', 'urn:example:groups'],
    },
    conformIdTokenClaims: !state.claims_in_id_token,
    pkce: { required: () => true, methods: ['S256'] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
    findAccount: (ctx, id) => ({
      accountId: id,
      claims: () => ({ ...accounts.get(id), sub: id }),
    }),
    loadExistingGrant: consentToAll,
    interactions: { policy: makePolicy(), url: (ctx, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => state.resource ?? undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => ({
          scope: 'api',
          audience: resource.replace(/^urn:audience:/, ''),
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: state.client.id_token_signed_response_alg ?? 'RS256' } },
        }),
      },
    },
    ttl: {
      AccessToken: () => 3600,
      AuthorizationCode: () => state.code_seconds,
      ClientCredentials: () => 3600,
      Grant: () => 86400,
      IdToken: () => state.id_token_seconds,
      Interaction: () => 3600,
      Session: () => 86400,
    },
  };
}

async function sign(payload, header, how) {
  const body = Buffer.from(JSON.stringify(payload));
  if (how === 'none') {
    return `${base64url.encode(JSON.stringify(header))}.${base64url.encode(body)}.`;
  }
  let key;
  if (how === 'secret') {
    key = Buffer.from(CLIENT_SECRET);
  } else if (how === 'public-key') { // the classic confusion of an HMAC with a signature
    key = Buffer.from(await exportSPKI(await importJWK(publicPart(keys.rsa), 'RS256')));
  } else {
    key = await importJWK(keyFor(header.alg, how === 'stranger' ? strangersKeys : keys), header.alg);
  }
  const { b64, crit, ...plain } = header;
  const options = crit ? { crit: Object.fromEntries(crit.map((name) => [name, true])) } : {};
  const token = await new CompactSign(body).setProtectedHeader(crit ? header : plain)
    .sign(key, options);
  if (how !== 'damaged') {
    return token;
  }
  const [head, middle, signature] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  bytes[10] ^= 1;
  return `${head}.${middle}.${bytes.toString('base64url')}`;
}

function merge(base, over) {
  const merged = { ...base, ...over };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

function crafted(claims, header, wish) {
  const over = { ...wish.header };
  if (over.jwk) {
    over.jwk = publicPart(keyFor(over.alg ?? header.alg, strangersKeys));
  }
  return sign(merge(claims, wish.claims), merge(header, over), wish.sign ?? 'current');
}

async function change(ctx, next) {
  await next();
  const { route } = ctx.oidc ?? {};
  if (route === 'token') {
    const form = ctx.oidc.body ?? {};
    requests.last_token = {
      status: ctx.status,
      basic: ctx.get('authorization').startsWith('Basic '),
      secret_in_body: 'client_secret' in form,
      client_id_in_body: 'client_id' in form,
      verifier: (form.code_verifier ?? '').length,
    };
    if (ctx.body?.id_token && state.id_token) {
      const { text } = state.id_token;
      ctx.body.id_token = text ?? await crafted(decodeJwt(ctx.body.id_token),
        decodeProtectedHeader(ctx.body.id_token), state.id_token);
      if (text === '') {
        delete ctx.body.id_token;
      }
    }
  } else if (route === 'jwks' && state.keys_cache) {
    ctx.set('Cache-Control', state.keys_cache);
  } else if (route === 'discovery' || route === 'userinfo') {
    ctx.body = merge(ctx.body, state[route]);
  }
}

function rebuild() {
  provider = new Provider(issuer, configuration());
  provider.use(change);
  callback = provider.callback();
}

function reset() {
  state = freshState();
  requests = { count: {}, last_token: null };
  clockSeconds = 0;
  rebuild();
}

async function interact(req, res) {
  const person = req.headers['x-person'];
  const answer = person ? { login: { accountId: person } }
    : { error: 'access_denied', error_description: 'the person said no & left' };
  await provider.interactionFinished(req, res, answer);
}

const ROUTES = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/token': 'token',
  '/me': 'userinfo',
  '/auth': 'auth',
  '/stranger': 'stranger',
};

function sendHuge(res) {
  const part = Buffer.alloc(65536, ' ');
  let left = 1024; // 64 MiB
  res.writeHead(200, { 'Content-Type': 'application/json' });
  const more = () => {
    while (left > 0 && !res.destroyed) {
      left -= 1;
      if (!res.write(part)) {
        res.once('drain', more);
        return;
      }
    }
    res.end();
  };
  more();
}

// True when the request is answered by its fault.
async function fail(fault, req, res) {
  if (fault.status) {
    res.writeHead(fault.status, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify(fault.body ?? { error: 'server_error' }));
    return true;
  }
  switch (fault.mode) {
    case 'cut':
      req.socket.destroy();
      return true;
    case 'cut-body':
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1000 });
      res.write('{"issuer": ', () => req.socket.destroy());
      return true;
    case 'garbage':
      res.writeHead(200, { 'Content-Type': 'text/html' });
      res.end('<html>a page of a proxy</html>');
      return true;
    case 'huge':
      sendHuge(res);
      return true;
    default:
      await new Promise((resolve) => { setTimeout(resolve, fault.ms); });
      return false;
  }
}

const server = http.createServer(async (req, res) => {
  const path = req.url.split('?')[0];
  const route = ROUTES[path];
  if (route) {
    requests.count[route] = (requests.count[route] ?? 0) + 1;
  }
  try {
    if (state.faults[route] && await fail(state.faults[route], req, res)) {
      return;
    }
    const isBasic = (req.headers.authorization ?? '').startsWith('Basic ');
    if (route === 'token' && isBasic && !state.auth_methods.includes('client_secret_basic')) {
      res.writeHead(401, { 'Content-Type': 'application/json' }); // the library lets it pass
      res.end('{"error": "invalid_client"}');
    } else if (route === 'stranger') {
      res.writeHead(200, { 'Content-Type': 'application/json' });
      res.end(JSON.stringify({ keys: Object.values(strangersKeys).map(publicPart) }));
    } else if (path.startsWith('/interaction/')) {
      await interact(req, res);
    } else {
      callback(req, res);
    }
  } catch (error) {
    console.error(error);
    res.writeHead(500).end();
  }
});

const listen = () => new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });

const CONTROLS = {
  'PUT /accounts': ({ sub, claims }) => { accounts.set(sub, claims); },
  'POST /reset': reset,
  'POST /set': (wanted) => {
    Object.assign(state, wanted);
    rebuild();
  },
  'POST /clock': ({ seconds }) => { clockSeconds = seconds; },
  'POST /rotate': () => {
    keys = makeKeys();
    rebuild();
  },
  'POST /sign': async ({ claims, header, ...wish }) => ({
    token: await crafted(claims, merge({ alg: 'RS256', kid: keys.rsa.kid }, header), wish),
  }),
  'POST /down': async () => {
    const closed = new Promise((resolve) => { server.close(resolve); });
    server.closeAllConnections();
    await closed;
  },
  'POST /up': listen,
  'GET /requests': () => requests,
};

const control = http.createServer(async (req, res) => {
  const parts = [];
  for await (const part of req) {
    parts.push(part);
  }
  try {
    const handler = CONTROLS[`${req.method} ${req.url.replace('/control', '')}`];
    const answer = await handler(JSON.parse(Buffer.concat(parts).toString() || 'null'));
    res.writeHead(200, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify(answer ?? {}));
  } catch (error) {
    res.writeHead(500).end(String(error.stack));
  }
});

process.on('SIGTERM', () => process.exit(0));
keys = makeKeys();
reset();
await listen();
control.listen(0, '127.0.0.1', () => {
  console.log(`provider ${issuer} control ${control.address().port}`);
});
