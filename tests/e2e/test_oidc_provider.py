# SPDX-License-Identifier: MIT
"""The provider that the other tests sign in at, driven by a tiny client: it does what they need."""
import time

import pytest

from oidc import Browser, RelyingParty, decode, post_form, query_of


def verify(provider, token):
    """The header and the claims of a token whose key is among those of the provider."""
    header, claims = decode(token)
    known = {key["kid"]: key for key in Browser().open(f"{provider.issuer}/jwks").json["keys"]}
    return header, claims, known.get(header.get("kid"))


def test_code_and_pkce(provider):
    person = provider.person(groups=["a", "b"], picture="https://example.com/p.png")
    rp = RelyingParty(provider)
    found = rp.discovery()
    assert found["issuer"] == provider.issuer
    assert found["code_challenge_methods_supported"] == ["S256"]
    tokens = rp.tokens(person)
    header, claims, key = verify(provider, tokens["id_token"])
    assert header["alg"] == "RS256" and key["kty"] == "RSA" and "d" not in key
    assert claims["aud"] == "gatehouse" and claims["nonce"] == "n" and claims["sub"] == person
    assert claims["groups"] == ["a", "b"] and claims["email_verified"] is True
    assert claims["exp"] - claims["iat"] == 3600
    info = Browser().open(found["userinfo_endpoint"], headers={
        "Authorization": f"Bearer {tokens['access_token']}"})
    assert info.json["email"] == f"{person}@example.com"
    assert provider.last_token_request() == {
        "status": 200, "basic": True, "secret_in_body": False, "client_id_in_body": False,
        "verifier": 64}
    assert provider.count("token") == 1 and provider.count("userinfo") == 1


def test_what_it_refuses(provider):
    person = provider.person()
    rp = RelyingParty(provider)
    answer, verifier = rp.authorize(person)
    assert rp.exchange(answer["code"], "x" * 50).json["error"] == "invalid_grant"
    answer, verifier = rp.authorize(person)
    assert rp.exchange(answer["code"], verifier).status == 200
    assert rp.exchange(answer["code"], verifier).json["error"] == "invalid_grant"
    assert "error" in rp.authorize(person, code_challenge=None, code_challenge_method=None)[0]
    denied, _ = rp.authorize(None)
    assert denied["error"] == "access_denied" and "&" in denied["error_description"]
    assert rp.authorize(None, prompt="none")[0]["error"] == "login_required"
    token = f"{provider.issuer}/token"
    assert post_form(token, {"grant_type": "client_credentials", "client_id": "gatehouse",
                             "client_secret": "x"}).status == 401


@pytest.mark.parametrize("alg", ["RS256", "PS256", "ES256", "EdDSA"])
def test_algorithms(provider, alg):
    provider.set(client={"id_token_signed_response_alg": alg})
    tokens = RelyingParty(provider).tokens(provider.person())
    header, _, key = verify(provider, tokens["id_token"])
    assert header["alg"] == alg and key


def test_kinds_of_clients(provider):
    person = provider.person()
    assert RelyingParty(provider, "public").tokens(person)["id_token"]
    provider.set(auth_methods=["client_secret_post", "none"])
    found = RelyingParty(provider).discovery()
    assert found["token_endpoint_auth_methods_supported"] == ["client_secret_post", "none"]
    rp = RelyingParty(provider)
    answer, verifier = rp.authorize(person)
    assert rp.exchange(answer["code"], verifier).status == 401
    provider.do("reset")
    header, claims, key = verify(provider, rp.machine_jwt())
    assert claims["sub"] == "machine" and claims["aud"] == "gatehouse" and key


def test_access_tokens(provider):
    person = provider.person()
    rp = RelyingParty(provider)
    assert rp.opaque(person)
    header, claims, key = verify(provider, rp.jwt(person, "other"))
    assert claims["aud"] == "other" and claims["iss"] == provider.issuer and key
    assert header["typ"] == "at+jwt"
    provider.set(resource="urn:audience:chosen")
    assert decode(rp.tokens(person)["access_token"])[1]["aud"] == "chosen"


def test_claims_outside_the_id_token(provider):
    provider.set(claims_in_id_token=False)
    person = provider.person(groups="one")
    tokens = RelyingParty(provider).tokens(person)
    assert "groups" not in decode(tokens["id_token"])[1]
    assert "email" not in decode(tokens["id_token"])[1]
    info = Browser().open(f"{provider.issuer}/me", headers={
        "Authorization": f"Bearer {tokens['access_token']}"})
    assert info.json["groups"] == "one"
    provider.set(userinfo={"sub": "somebody"})
    assert Browser().open(f"{provider.issuer}/me", headers={
        "Authorization": f"Bearer {tokens['access_token']}"}).json["sub"] == "somebody"


def test_spoilt_tokens(provider):
    rp, person = RelyingParty(provider), provider.person()
    provider.spoil(claims={"aud": "other", "exp": None}, header={"jku": "http://x/"})
    header, claims = decode(rp.tokens(person)["id_token"])
    assert claims["aud"] == "other" and "exp" not in claims and header["jku"] == "http://x/"
    provider.spoil(header={"alg": "none"}, sign="none")
    assert rp.tokens(person)["id_token"].endswith(".")
    for how in "secret", "public-key":
        provider.spoil(header={"alg": "HS256"}, sign=how)
        assert decode(rp.tokens(person)["id_token"])[0]["alg"] == "HS256"
    provider.spoil(header={"jwk": True}, sign="stranger")
    header, _, key = verify(provider, rp.tokens(person)["id_token"])
    assert header["jwk"]["n"] != key["n"] and "d" not in header["jwk"]
    provider.spoil(text="")
    assert "id_token" not in rp.tokens(person)
    provider.spoil(text="x.y.z")
    assert rp.tokens(person)["id_token"] == "x.y.z"
    provider.spoil(sign="damaged")
    assert rp.tokens(person)["id_token"]
    assert decode(provider.sign({"sub": "a"}, {"kid": "other"}))[0] == {
        "alg": "RS256", "kid": "other"}


def test_the_clock(provider):
    rp, person = RelyingParty(provider), provider.person()
    for seconds in (120, -120, 0):
        provider.clock(seconds)
        claims = decode(rp.tokens(person)["id_token"])[1]
        assert abs(claims["iat"] - time.time() - seconds) < 3


def test_rotation(provider):
    def kids():
        return {key["kid"] for key in Browser().open(f"{provider.issuer}/jwks").json["keys"]}
    before, rp, person = kids(), RelyingParty(provider), provider.person()
    token = rp.tokens(person)["access_token"]
    provider.do("rotate")
    assert not before & kids() and len(kids()) == 3
    assert decode(rp.tokens(person)["id_token"])[0]["kid"] in kids()
    info = Browser().open(f"{provider.issuer}/me", headers={"Authorization": f"Bearer {token}"})
    assert info.json["sub"] == person  # what it knows survives


def test_faults(provider):
    address = f"{provider.issuer}/.well-known/openid-configuration"
    provider.fault("discovery", status=500)
    assert Browser().open(address).status == 500
    for mode in "cut", "cut-body":
        provider.fault("discovery", mode=mode)
        with pytest.raises(Exception):
            Browser().open(address)
    provider.fault("discovery", mode="garbage")
    assert b"<html>" in Browser().open(address).body
    provider.fault("discovery", mode="huge")
    assert len(Browser().open(address).body) == 64 * 1024 * 1024
    provider.fault("discovery", mode="slow", ms=200)
    begin = time.monotonic()
    assert Browser().open(address).status == 200
    assert time.monotonic() - begin > 0.19
    provider.set(discovery={"issuer": "http://other/"})
    assert Browser().open(address).json["issuer"] == "http://other/"
    provider.do("reset")
    provider.do("down")
    with pytest.raises(OSError):
        Browser().open(address)
    provider.do("up")
    assert Browser().open(address).json["issuer"] == provider.issuer


def test_the_browser(provider):
    """Cookies go where they came from, under their path, and no further."""
    browser = Browser("x")
    hops = browser.follow(
        f"{provider.issuer}/auth?client_id=gatehouse&redirect_uri=http://127.0.0.1/rp"
        "&response_type=code&scope=openid&code_challenge=" + "x" * 43
        + "&code_challenge_method=S256", stop=lambda url: url.startswith("http://127.0.0.1/rp"))
    assert [hop.status for hop in hops] == [303, 303, 303], hops
    assert set(query_of(hops[-1].location)) == {"code", "iss"}
    assert hops[0].cookie("_interaction")["httponly"] == ""
    assert "_session" in browser.cookies_for(f"{provider.issuer}/auth")
    assert not browser.cookies_for("http://127.0.0.1:1/auth")
